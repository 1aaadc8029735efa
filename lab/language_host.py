"""Language host for a Pulumi CLI built from source: runs our Python programs and policy packs.

The CLI starts it as ``pulumi-language-python`` and speaks gRPC with it. Each program runs in an interpreter of
its own, so that a preview and the update after it never share modules or state.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, cast

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import LanguageRuntimeServicer, language_pb2, language_pb2_grpc, plugin_pb2
from typing_extensions import override

from lab.language_program import REPORTED, run_program

MODULE = "lab.language_host"
"""Name under which an interpreter starts this file."""
NAME = "pulumi-language-python"
"""File name under which the Pulumi CLI looks for a host of ``runtime: python``."""
BYTECODE = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")
"""What says where Python keeps compiled modules; a policy pack has the CLI's environment otherwise."""
READ_BYTES = 65536
"""Most that is read from a pipe at once (bytes); the size of a pipe. Source: pipe(7)."""
MESSAGE_BYTES = 400 * 1024 * 1024
"""Largest gRPC message (bytes). Source: the limit of the Pulumi SDK itself."""


def write_launcher(bin_dir: Path, python: Path) -> Path:
    """Write ``pulumi-language-python`` into a folder; it starts this host with one fixed interpreter.

    Args:
        python: interpreter of the environment in which ``lab`` and ``pulumi`` are installed.
    Returns:
        The launcher, executable.
    """
    launcher = bin_dir / NAME
    bin_dir.mkdir(parents=True, exist_ok=True)
    # -P: the folder that the CLI runs in must not shadow our modules. exec: the CLI signals the host itself.
    # PPID: a CLI that dies while Python still starts would not be our parent any more when we ask.
    start = f'exec {shlex.quote(str(python))} -P -m {MODULE} --parent "$PPID" "$@"'
    # Who keeps no bytecode beside modules would compile the SDKs in each run, for seconds.
    kept = f'[ -z "$PYTHONDONTWRITEBYTECODE" ] || export {_bytecode(bin_dir.parent)}'
    launcher.write_text(f"#!/bin/sh\n{kept}\n{start}\n")
    launcher.chmod(0o755)
    return launcher


def _bytecode(folder: Path) -> str:
    return f"PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX={shlex.quote(str(folder / 'pycache'))}"


class LanguageHost(LanguageRuntimeServicer):
    """What the engine asks of a language, answered for Python programs and policy packs.

    Args:
        engine: address of the engine that takes log messages; programs and packs get it too.
    """

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self._children: set[subprocess.Popen[bytes]] = set()

    @override
    def Handshake(
        self, request: language_pb2.LanguageHandshakeRequest, context: grpc.ServicerContext
    ) -> language_pb2.LanguageHandshakeResponse:
        """Take the engine's address from an engine that tells it here."""
        self.engine = request.engine_address or self.engine
        return language_pb2.LanguageHandshakeResponse()

    @override
    def GetPluginInfo(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> plugin_pb2.PluginInfo:
        """Name our version: that of the installed Pulumi SDK."""
        return plugin_pb2.PluginInfo(version=metadata.version("pulumi"))

    @override
    def About(self, request: language_pb2.AboutRequest, context: grpc.ServicerContext) -> language_pb2.AboutResponse:
        """Name the interpreter, for ``pulumi about``."""
        version = ".".join(str(part) for part in sys.version_info[:3])
        return language_pb2.AboutResponse(executable=sys.executable, version=version)

    @override
    def GetRequiredPlugins(
        self, request: language_pb2.GetRequiredPluginsRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPluginsResponse:
        """Name none: the lab provides its plugins, and the engine must not download others."""
        return language_pb2.GetRequiredPluginsResponse()

    @override
    def GetRequiredPackages(
        self, request: language_pb2.GetRequiredPackagesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetRequiredPackagesResponse:
        """Name none: the lab provides its plugins, and the engine must not download others."""
        return language_pb2.GetRequiredPackagesResponse()

    @override
    def GetProgramDependencies(
        self, request: language_pb2.GetProgramDependenciesRequest, context: grpc.ServicerContext
    ) -> language_pb2.GetProgramDependenciesResponse:
        """Name none: the lock file of the clone is the one list of dependencies."""
        return language_pb2.GetProgramDependenciesResponse()

    @override
    def InstallDependencies(
        self,
        request: language_pb2.InstallDependenciesRequest,
        context: grpc.ServicerContext,
    ) -> Iterator[language_pb2.InstallDependenciesResponse]:
        """Say that there is nothing to install here, for ``pulumi install``."""
        said = f"{NAME}: dependencies come from requirements.lock; 'make up' installs them\n"
        yield language_pb2.InstallDependenciesResponse(stdout=said.encode())

    @override
    def Run(self, request: language_pb2.RunRequest, context: grpc.ServicerContext) -> language_pb2.RunResponse:
        """Run a program to its end; ``bail`` says that it has already told the engine why it failed."""
        del request.args[:]
        request.args.append(self.engine)
        with self._child(context, [MODULE, "--program"], request.pwd) as child:
            child.communicate(request.SerializeToString())
        if child.returncode in (0, REPORTED):
            return language_pb2.RunResponse(bail=child.returncode == REPORTED)
        return language_pb2.RunResponse(error=f"{NAME}: the program {ending(child.returncode)}, without saying why")

    @override
    def RunPlugin(
        self, request: language_pb2.RunPluginRequest, context: grpc.ServicerContext
    ) -> Iterator[language_pb2.RunPluginResponse]:
        """Run a policy pack, handing on what it prints, then its exit status."""
        folder = request.info.program_directory
        if request.kind != "analyzer" or not request.args:
            context.abort(
                grpc.StatusCode.UNIMPLEMENTED,
                f"{NAME}: {folder!r} is a plugin of kind {request.kind!r}; only policy packs run here",
            )
        environment = dict(pair.split("=", 1) for pair in request.env)
        environment |= {name: os.environ[name] for name in BYTECODE if name in os.environ}
        with self._child(
            context, ["pulumi.policy", request.args[0], folder], request.pwd, environment, output=subprocess.PIPE
        ) as child:
            yield from _printed(child)
            yield language_pb2.RunPluginResponse(exitcode=child.wait())

    @override
    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        """End what runs now."""
        self.stop()
        return empty_pb2.Empty()

    def stop(self) -> None:
        """End the programs and packs that this host started."""
        for child in tuple(self._children):
            child.terminate()

    @contextmanager
    def _child(
        self,
        context: grpc.ServicerContext,
        arguments: list[str],
        folder: str,
        env: dict[str, str] | None = None,
        output: int | None = None,
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Run a module in a new interpreter that ends with the call it answers."""
        child = subprocess.Popen(
            [sys.executable, "-P", "-u", "-m", *arguments],
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
        self._children.add(child)
        try:
            if not context.add_callback(child.terminate):
                child.terminate()  # the call was cancelled before it began
            yield child
        finally:
            child.terminate()
            child.wait()
            self._children.discard(child)


def ending(status: int) -> str:
    """Say how a process ended, such as ``ended with status 3`` or ``was ended by SIGKILL``."""
    return f"ended with status {status}" if status >= 0 else f"was ended by {signal.Signals(-status).name}"


def _printed(child: subprocess.Popen[bytes]) -> Iterator[language_pb2.RunPluginResponse]:
    """Yield what a process prints as it comes, until it has closed both pipes."""
    parts: SimpleQueue[language_pb2.RunPluginResponse | None] = SimpleQueue()

    def answer(stream: str, part: bytes) -> language_pb2.RunPluginResponse:
        return language_pb2.RunPluginResponse(**cast(Any, {stream: part}))

    def read(stream: str, pipe: IO[bytes]) -> None:
        while part := os.read(pipe.fileno(), READ_BYTES):
            parts.put(answer(stream, part))
        parts.put(None)

    pipes = {stream: pipe for stream, pipe in (("stdout", child.stdout), ("stderr", child.stderr)) if pipe}
    for stream, pipe in pipes.items():
        threading.Thread(target=read, args=(stream, pipe), daemon=True).start()
    for _ in pipes:
        yield from iter(parts.get, None)


def serve(engine: str, parent: int) -> None:
    """Serve one Pulumi CLI until it ends or interrupts us.

    Args:
        engine: address of its engine.
        parent: its process id.
    """
    options = [("grpc.max_receive_message_length", MESSAGE_BYTES), ("grpc.max_send_message_length", MESSAGE_BYTES)]
    server = grpc.server(ThreadPoolExecutor(), options=options)
    host = LanguageHost(engine)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    server.start()
    print(port, flush=True)
    while os.getppid() == parent and not stopped.wait(timeout=1):
        pass
    host.stop()
    server.stop(grace=None)


def main(arguments: list[str]) -> int:
    """Serve a CLI (``--parent PID [options] ADDRESS``), or run the program on standard input (``--program``)."""
    if arguments == ["--program"]:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        return run_program(language_pb2.RunRequest.FromString(sys.stdin.buffer.read()))
    serve(engine=arguments[-1], parent=int(arguments[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
