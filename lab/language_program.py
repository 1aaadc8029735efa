"""Run one Pulumi program for the language host, in an interpreter of its own, and say plainly why it failed."""

from __future__ import annotations

import asyncio
import runpy
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pulumi
from pulumi.runtime import reset_options, run_in_stack, set_all_config
from pulumi.runtime.proto import language_pb2

from infra.errors import RailwrightError

REPORTED = 32
"""Exit status of a program that has told the engine why it failed; any other one is a crash."""


def run_program(request: language_pb2.RunRequest) -> int:
    """Run a Pulumi program in this interpreter and tell the engine what went wrong.

    Returns:
        0, or ``REPORTED`` when the engine has been told why the program failed.
    """
    reset_options(
        project=request.project,
        stack=request.stack,
        organization=request.organization or "organization",
        root_directory=request.info.root_directory,
        monitor_address=request.monitor_address,
        engine_address=request.args[0],
        preview=request.dryRun,
        parallel=request.parallel,
    )
    set_all_config(dict(request.config), list(request.configSecretKeys))
    folder = Path(request.info.program_directory)
    sys.path.insert(0, str(folder))
    program = folder / (request.info.entry_point or ".")
    try:
        asyncio.run(_deploy(program, threads=max(request.parallel, 1)))
    except SystemExit as left:
        if left.code in (None, 0):
            return 0
        pulumi.log.error(f"the program called sys.exit({left.code!r}); raise an error that says why instead")
    except grpc.RpcError as error:
        # An engine that is gone took the resource monitor along; there is nobody left to tell.
        if error.code() != grpc.StatusCode.UNAVAILABLE:
            pulumi.log.error(f"the engine refused a call: {error.details()}")
    except Exception as error:  # top frame of a user's program: whatever it raises is reported
        pulumi.log.error(explain(error))
    else:
        return 0
    return REPORTED


async def _deploy(program: Path, threads: int) -> None:
    """Run a program file or folder as ``__main__`` inside its stack, until every resource is settled."""

    def run() -> None:
        runpy.run_path(str(program), run_name="__main__")

    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(max_workers=threads))
    await run_in_stack(run)


def explain(error: BaseException) -> str:
    """Say what a program raised: refusals in their own words, anything else with the program's own frames."""
    cause: BaseException | None = error
    while cause:
        if isinstance(cause, (RailwrightError, pulumi.RunError)):
            return str(cause)
        cause = cause.__cause__
    frames = traceback.extract_tb(error.__traceback__)
    ours = [at for at, frame in enumerate(frames) if frame.filename in (__file__, "<frozen runpy>")]
    shown = frames[ours[-1] + 1 :] if ours and ours[-1] + 1 < len(frames) else frames
    said = "".join(traceback.format_exception_only(error))
    return f"the program raised {type(error).__name__}:\n{''.join(traceback.format_list(shown))}{said}"
