"""The language host, spoken to as the Pulumi engine does, with small programs in a temporary folder."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import (
    EngineServicer,
    ResourceMonitorServicer,
    engine_pb2,
    engine_pb2_grpc,
    language_pb2,
    language_pb2_grpc,
    resource_pb2,
    resource_pb2_grpc,
)
from typing_extensions import override

from lab.language_host import ending, write_launcher


class Engine(EngineServicer, ResourceMonitorServicer):
    """The engine's side: takes log messages and registers whatever a program asks for."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.outputs: dict[str, Any] = {}

    @override
    def Log(self, request: engine_pb2.LogRequest, context: Any) -> empty_pb2.Empty:
        """Keep what is said as an error."""
        if request.severity == engine_pb2.ERROR:
            self.errors.append(request.message)
        return empty_pb2.Empty()

    @override
    def SupportsFeature(self, request: Any, context: Any) -> resource_pb2.SupportsFeatureResponse:
        """Support nothing."""
        return resource_pb2.SupportsFeatureResponse()

    @override
    def RegisterResource(self, request: Any, context: Any) -> resource_pb2.RegisterResourceResponse:
        """Register anything."""
        return resource_pb2.RegisterResourceResponse(urn=f"urn:{request.name}")

    @override
    def RegisterResourceOutputs(self, request: Any, context: Any) -> empty_pb2.Empty:
        """Keep the outputs of the stack."""
        self.outputs.update(request.outputs)
        return empty_pb2.Empty()

    @override
    def SetRootResource(self, request: Any, context: Any) -> engine_pb2.SetRootResourceResponse:
        """Take the stack as the root."""
        return engine_pb2.SetRootResourceResponse()

    @override
    def SignalAndWaitForShutdown(self, request: Any, context: Any) -> empty_pb2.Empty:
        """Let the program end."""
        return empty_pb2.Empty()


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[Engine, str]]:
    """One engine for all tests, and where it listens."""
    server, served = grpc.server(ThreadPoolExecutor()), Engine()
    engine_pb2_grpc.add_EngineServicer_to_server(served, server)
    resource_pb2_grpc.add_ResourceMonitorServicer_to_server(served, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield served, f"127.0.0.1:{port}"
    server.stop(grace=None)


@pytest.fixture
def engine(address: tuple[Engine, str]) -> tuple[Engine, str]:
    """The engine, which has heard nothing yet."""
    address[0].errors.clear()
    address[0].outputs.clear()
    return address


def start(folder: Path, address: str) -> tuple[subprocess.Popen[str], Any]:
    """Start a host by its launcher, and a client of it."""
    launcher = write_launcher(folder, Path(sys.executable))
    process = subprocess.Popen([launcher, address], stdout=subprocess.PIPE, text=True)
    port = process.stdout.readline().strip() if process.stdout else ""
    return process, language_pb2_grpc.LanguageRuntimeStub(grpc.insecure_channel(f"127.0.0.1:{port}"))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory, address: tuple[Engine, str]) -> Iterator[Any]:
    """One host for all tests that leave it running: it starts each program anew."""
    process, client = start(tmp_path_factory.mktemp("bin"), address[1])
    yield client
    process.kill()
    process.wait()


def request(folder: Path, monitor: str, **more: Any) -> language_pb2.RunRequest:
    """Ask to run the program in a folder."""
    info = language_pb2.ProgramInfo(root_directory=str(folder), program_directory=str(folder), entry_point=".")
    return language_pb2.RunRequest(
        project="p", stack="s", pwd=str(folder), info=info, monitor_address=monitor, parallel=4, dryRun=True, **more
    )


def pack(folder: Path, host: Any, *env: str) -> list[language_pb2.RunPluginResponse]:
    """Run the program in a folder as a policy pack."""
    info = language_pb2.ProgramInfo(root_directory=str(folder), program_directory=str(folder), entry_point=".")
    asked = {"pwd": str(folder), "args": ["127.0.0.1:1"], "kind": "analyzer", "info": info, "env": list(env)}
    return list(host.RunPlugin(language_pb2.RunPluginRequest(**asked)))


def program(folder: Path, text: str) -> None:
    """Write a program."""
    (folder / "__main__.py").write_text(text)


def test_a_program_sees_its_stack_config_and_neighbours(tmp_path: Path, host: Any, engine: Any) -> None:
    """Config, dry run, the files beside it and its exports all arrive."""
    (tmp_path / "beside.py").write_text("NAME = 'neighbour'")
    program(
        tmp_path,
        "import pulumi, beside\npulumi.export('seen', [beside.NAME, pulumi.get_stack(), "
        "pulumi.Config().require('size'), pulumi.runtime.is_dry_run()])",
    )
    answer = host.Run(request(tmp_path, engine[1], config={"p:size": "8"}))
    assert (answer.error, answer.bail, engine[0].errors) == ("", False, [])
    assert list(engine[0].outputs["seen"]) == ["neighbour", "s", "8", True]


def test_each_run_sees_fresh_modules(tmp_path: Path, host: Any, engine: Any) -> None:
    """A file changed between the preview and the update is read anew."""
    program(tmp_path, "import pulumi, beside\npulumi.export('seen', beside.NAME)")
    for name in ("first", "second one"):
        (tmp_path / "beside.py").write_text(f"NAME = {name!r}")
        host.Run(request(tmp_path, engine[1]))
        assert engine[0].outputs["seen"] == name


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "from infra.errors import ConfigError\nraise ConfigError('pool a: too big', 'pool b: no host')",
            "pool a: too big\npool b: no host",
        ),
        (
            "import pulumi\nfrom infra.errors import ConfigError\ndef no(_):\n    raise ConfigError('found late')\n"
            "pulumi.export('x', pulumi.Output.from_input(1).apply(no))",
            "found late",
        ),
        ("import sys\nsys.exit(3)", "the program called sys.exit(3); raise an error that says why instead"),
    ],
    ids=["refusal", "refusal-in-apply", "exit"],
)
def test_a_refusal_comes_out_in_its_own_words(tmp_path: Path, host: Any, engine: Any, text: str, says: str) -> None:
    """The user reads the sentence and no traceback; the engine knows that it has been told."""
    program(tmp_path, text)
    assert host.Run(request(tmp_path, engine[1])).bail
    assert engine[0].errors == [says]


def test_any_other_error_comes_with_the_lines_of_the_program_only(tmp_path: Path, host: Any, engine: Any) -> None:
    """A bug is shown where it is, without the frames of the host and the SDK."""
    program(tmp_path, "def build():\n    return 1 / 0\nbuild()")
    assert host.Run(request(tmp_path, engine[1])).bail
    [said] = engine[0].errors
    assert said.startswith(f'the program raised ZeroDivisionError:\n  File "{tmp_path}/__main__.py", line 3')
    assert said.count("File ") == 2


def test_a_program_that_dies_is_an_error_that_says_how(tmp_path: Path, host: Any, engine: Any) -> None:
    """Nobody told the engine, so the host does."""
    program(tmp_path, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    answer = host.Run(request(tmp_path, engine[1]))
    assert answer.error == "pulumi-language-python: the program was ended by SIGKILL, without saying why"


def test_a_pack_is_run_with_its_output_and_exit_status(tmp_path: Path, host: Any) -> None:
    """Both streams and the status of a policy pack reach the engine."""
    program(tmp_path, "import sys\nprint('4711')\nprint('oops', file=sys.stderr)\nsys.exit(5)")
    parts = pack(tmp_path, host, "PATH=/usr/bin:/bin")
    assert b"".join(part.stdout for part in parts) == b"4711\n"
    assert b"".join(part.stderr for part in parts) == b"oops\n"
    assert parts[-1].exitcode == 5


def test_sdks_are_compiled_once_where_python_keeps_no_bytecode(
    tmp_path: Path, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under PYTHONDONTWRITEBYTECODE, as images set it, each preview compiled a thousand modules of SDKs anew."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    process, client = start(tmp_path / "bin", engine[1])
    program(tmp_path, "import beside, sys\nprint(sys.dont_write_bytecode)")
    (tmp_path / "beside.py").touch()
    client.Run(request(tmp_path, engine[1]))
    printed = b"".join(part.stdout for part in pack(tmp_path, client, "PYTHONDONTWRITEBYTECODE=1"))
    process.terminate()
    process.wait()
    assert list((tmp_path / "pycache").rglob("beside.*.pyc"))
    assert (list(tmp_path.glob("__pycache__")), printed) == ([], b"False\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["interrupt", "terminate"])
def test_an_interrupted_host_ends_its_program_quietly(tmp_path: Path, engine: Any, number: int) -> None:
    """Ctrl-C leaves no process behind and prints nothing."""
    process, client = start(tmp_path, engine[1])
    fifo = tmp_path / "pid"
    os.mkfifo(fifo)
    program(
        tmp_path,
        f"import os, pathlib, threading\npathlib.Path({str(fifo)!r}).write_text(str(os.getpid()))\n"
        "threading.Event().wait()",
    )
    call = client.Run.future(request(tmp_path, engine[1]))
    pid = int(fifo.read_text())
    process.send_signal(number)
    assert process.wait(timeout=20) == 0
    assert process.communicate()[0] == ""
    assert not Path(f"/proc/{pid}").exists()
    assert call.exception() is not None


def test_a_host_ends_when_its_cli_is_gone(tmp_path: Path) -> None:
    """A killed CLI leaves no host behind: the pipe that only the host holds open comes to its end."""
    launcher = write_launcher(tmp_path, Path(sys.executable))
    cli = subprocess.Popen(
        ["sh", "-c", f"{launcher} 127.0.0.1:1 & read _"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert cli.stdout is not None
    assert cli.stdout.readline().strip().isdigit()
    cli.kill()
    assert cli.stdout.read() == ""
    cli.wait()


@pytest.mark.parametrize(("status", "says"), [(3, "ended with status 3"), (-9, "was ended by SIGKILL")])
def test_an_end_is_told_in_words(status: int, says: str) -> None:
    """A status is for machines."""
    assert ending(status) == says
