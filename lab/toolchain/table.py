"""Which programs the lab is made of: pinned versions, what each is built from, and how each is asked its version."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

GO_VERSION = (1, 26, 8)
"""Oldest Go that builds all tools; the newest ``go`` line among ``lab/tools/*/go.mod``."""


@dataclass(frozen=True, slots=True)
class Binary:
    """One program of a tool.

    Args:
        name: file name of the program.
        package: Go package it is built from; ``.`` is the tool's own folder.
        ask: arguments that make it print its version and end.
    """

    name: str
    package: str
    ask: tuple[str, ...] = ("--version",)

    @property
    def built_as(self) -> str:
        """File name that ``go build`` chooses: the last part of the package that is not a major version."""
        parts = [part for part in self.package.split("/") if not (part[0] == "v" and part[1:].isdigit())]
        return self.name if self.package == "." else parts[-1]


@dataclass(frozen=True, slots=True)
class ModuleFile:
    """A file, or a folder with all in it, that is taken out of a Go module as it is.

    Args:
        module: path of the module, one of the tool's requirements.
        source: the file or folder inside the module.
        target: where it goes, from the folder it is wanted in.
    """

    module: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Tool:
    """One or several programs that are built together from the pinned modules in ``lab/tools/<name>/go.mod``.

    Args:
        name: name of the folder that holds the pins.
        version: pinned version, without the ``v``.
        binaries: the programs, all of one version.
        stamps: variables that the linker sets to a value.
        tags: Go build tags.
        cgo: whether a C compiler is needed.
        debian: Debian packages that the build needs.
        may_be_installed: whether one on PATH may serve; false where the name means something else there.
        embedded: files of modules that the build embeds.
        shipped: files of modules that are installed beside the programs.
        on_request: whether it is built only where it is named; `lab up` needs it for nothing.
        module_version: version of its module as Go names it, without the ``v``, where that is another one.
    """

    name: str
    version: str
    binaries: tuple[Binary, ...]
    stamps: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()
    cgo: bool = False
    debian: tuple[str, ...] = ()
    may_be_installed: bool = False
    embedded: tuple[ModuleFile, ...] = ()
    shipped: tuple[ModuleFile, ...] = ()
    on_request: bool = False
    module_version: str = ""

    @property
    def entries(self) -> tuple[str, ...]:
        """Names in the folder it is installed into: its programs, and folders of files beside them."""
        folders = {file.target.split("/")[0] for file in self.shipped}
        return (*(binary.name for binary in self.binaries), *sorted(folders))

    @property
    def pins(self) -> Path:
        """Folder of its go.mod, go.sum and sources of ours."""
        return Path(__file__).resolve().parents[1] / "tools" / self.name


_K8S, _CNI = "k8s.io/kubernetes/cmd", "github.com/containernetworking/plugins"
_CONTAINERD = "github.com/containerd/containerd/v2"
_KWOK = "sigs.k8s.io/kwok"
_PROVIDER = "github.com/pulumi/pulumi-kubernetes/provider/v4"
_COMPONENT = "k8s.io/component-base/version"
_PROMETHEUS = "github.com/prometheus/prometheus/cmd"
_OPERATOR = "github.com/prometheus-operator/prometheus-operator/cmd"
_GPU_OPERATOR = "github.com/NVIDIA/gpu-operator"
_COMMON_VERSION = "github.com/prometheus/common/version.Version"

TOOLS = (
    Tool(
        name="etcd",
        version="3.6.16",
        binaries=(Binary("etcd", "go.etcd.io/etcd/server/v3"),),
        may_be_installed=True,
    ),
    Tool(
        name="runc",
        version="1.5.3",
        binaries=(Binary("runc", "github.com/opencontainers/runc"),),
        tags=("seccomp",),
        cgo=True,
        debian=("gcc", "libc6-dev", "libseccomp-dev", "pkg-config"),
        may_be_installed=True,
    ),
    Tool(
        name="kubernetes",
        version="1.36.3",
        binaries=(
            Binary("kube-apiserver", f"{_K8S}/kube-apiserver"),
            Binary("kube-controller-manager", f"{_K8S}/kube-controller-manager"),
            Binary("kube-scheduler", f"{_K8S}/kube-scheduler"),
            Binary("kubelet", f"{_K8S}/kubelet"),
            Binary("kube-proxy", f"{_K8S}/kube-proxy"),
            Binary("kubectl", f"{_K8S}/kubectl", ask=("version", "--client")),
        ),
        stamps=(
            (f"{_COMPONENT}.gitVersion", "v1.36.3"),
            (f"{_COMPONENT}.gitMajor", "1"),
            (f"{_COMPONENT}.gitMinor", "36"),
        ),
        may_be_installed=True,
    ),
    Tool(
        name="containerd",
        version="2.4.2",
        binaries=(
            Binary("containerd", f"{_CONTAINERD}/cmd/containerd"),
            Binary("containerd-shim-runc-v2", f"{_CONTAINERD}/cmd/containerd-shim-runc-v2", ask=("-v",)),
            Binary("ctr", f"{_CONTAINERD}/cmd/ctr"),
        ),
        stamps=((f"{_CONTAINERD}/version.Version", "v2.4.2"),),
        tags=("no_btrfs", "no_devmapper", "no_zfs"),
        may_be_installed=True,
    ),
    Tool(
        name="cni",
        version="1.10.0",
        binaries=(
            Binary("ptp", f"{_CNI}/plugins/main/ptp"),
            Binary("host-local", f"{_CNI}/plugins/ipam/host-local"),
            Binary("loopback", f"{_CNI}/plugins/main/loopback"),
            Binary("portmap", f"{_CNI}/plugins/meta/portmap"),
        ),
        stamps=((f"{_CNI}/pkg/utils/buildversion.BuildVersion", "v1.10.0"),),
    ),
    Tool(
        name="pause",
        version="1.0.0",
        binaries=(Binary("pause", "."),),
        stamps=(("main.version", "1.0.0"),),
    ),
    Tool(
        name="kwok",
        version="0.8.0",
        binaries=(Binary("kwok", f"{_KWOK}/cmd/kwok"),),
        shipped=(
            ModuleFile(_KWOK, "LICENSE", "kwok-stages/LICENSE"),
            ModuleFile(_KWOK, "kustomize/stage/node/fast/node-initialize.yaml", "kwok-stages/node-initialize.yaml"),
            ModuleFile(
                _KWOK,
                "kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
                "kwok-stages/node-heartbeat-with-lease.yaml",
            ),
            ModuleFile(_KWOK, "kustomize/stage/node/chaos/node-not-ready.yaml", "kwok-stages/node-not-ready.yaml"),
            ModuleFile(_KWOK, "kustomize/stage/pod/fast/pod-ready.yaml", "kwok-stages/pod-ready.yaml"),
            ModuleFile(_KWOK, "kustomize/stage/pod/fast/pod-complete.yaml", "kwok-stages/pod-complete.yaml"),
            ModuleFile(_KWOK, "kustomize/stage/pod/fast/pod-delete.yaml", "kwok-stages/pod-delete.yaml"),
        ),
    ),
    Tool(
        name="coredns",
        version="1.15.0",
        binaries=(Binary("coredns", ".", ask=("-version",)),),
    ),
    Tool(
        name="pulumi",
        version="3.274.1",
        binaries=(Binary("pulumi", "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi", ask=("version",)),),
        stamps=(("github.com/pulumi/pulumi/sdk/v3/go/common/version.Version", "v3.274.1"),),
        may_be_installed=True,
    ),
    Tool(
        name="pulumi-resource-kubernetes",
        # Its newest commit among Go's modules is of the day before v4.25.0 and carries no tag.
        version="4.25.0",
        binaries=(Binary("pulumi-resource-kubernetes", "."),),
        stamps=((f"{_PROVIDER}/pkg/version.Version", "4.25.0"),),
        embedded=(
            ModuleFile(_PROVIDER, "cmd/pulumi-resource-kubernetes/schema.json", "schema.json"),
            ModuleFile(_PROVIDER, "cmd/pulumi-resource-kubernetes/terraform-mapping.json", "terraform-mapping.json"),
        ),
    ),
    Tool(
        name="prometheus",
        version="3.16.0",
        binaries=(Binary("prometheus", f"{_PROMETHEUS}/prometheus"), Binary("promtool", f"{_PROMETHEUS}/promtool")),
        stamps=((_COMMON_VERSION, "3.16.0"),),
        tags=("remove_all_sd", "enable_kubernetes_sd"),
        module_version="0.316.0",
    ),
    Tool(
        name="prometheus-operator",
        version="0.93.1",
        binaries=(
            Binary("prometheus-operator", f"{_OPERATOR}/operator"),
            Binary("prometheus-config-reloader", f"{_OPERATOR}/prometheus-config-reloader"),
        ),
        stamps=((_COMMON_VERSION, "0.93.1"),),
    ),
    Tool(
        name="kube-state-metrics",
        version="2.20.0",
        binaries=(Binary("kube-state-metrics", "k8s.io/kube-state-metrics/v2", ask=("version",)),),
        stamps=((_COMMON_VERSION, "v2.20.0"),),
    ),
    Tool(
        name="alertmanager",
        version="0.35.0",
        binaries=(Binary("alertmanager", "github.com/prometheus/alertmanager/cmd/alertmanager"),),
        stamps=((_COMMON_VERSION, "0.35.0"),),
    ),
    Tool(
        name="node_exporter",
        version="1.12.1",
        binaries=(Binary("node_exporter", "github.com/prometheus/node_exporter"),),
        stamps=((_COMMON_VERSION, "1.12.1"),),
    ),
    Tool(
        name="gpu-operator",
        # The newest commit among Go's modules, of 2025-09-17; it is the one that was released as v25.3.4.
        version="25.3.4",
        # It has no argument for it: without a namespace it ends at once, after it has logged its version.
        binaries=(Binary("gpu-operator", f"{_GPU_OPERATOR}/cmd/gpu-operator", ask=("--zap-time-encoding=rfc3339",)),),
        stamps=((f"{_GPU_OPERATOR}/internal/info.version", "v25.3.4"),),
        shipped=(
            ModuleFile(_GPU_OPERATOR, "LICENSE", "gpu-operator-files/LICENSE"),
            ModuleFile(_GPU_OPERATOR, "assets", "gpu-operator-files/assets"),
            ModuleFile(_GPU_OPERATOR, "manifests", "gpu-operator-files/manifests"),
            ModuleFile(_GPU_OPERATOR, "deployments/gpu-operator", "gpu-operator-files/chart"),
        ),
        on_request=True,
        module_version="0.0.0-20250917190837-d73a0086a6ba",
    ),
    Tool(
        name="kubeconform",
        version="0.8.0",
        binaries=(Binary("kubeconform", "github.com/yannh/kubeconform/cmd/kubeconform", ask=("-v",)),),
        stamps=(("main.version", "v0.8.0"),),
        on_request=True,
    ),
    Tool(
        name="kube-score",
        version="1.20.0",
        binaries=(Binary("kube-score", "github.com/zegl/kube-score/cmd/kube-score", ask=("version",)),),
        stamps=(("main.version", "1.20.0"),),
        on_request=True,
    ),
)
"""All tools, in the order in which they are built. The two that start share no package: runc is built with cgo, so that
etcd alone compiles the standard library that all others then find in Go's cache."""
