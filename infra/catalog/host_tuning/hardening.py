"""Hardening that leaves a Kubernetes host working: ssh, audit, kernel; never forwarding, never loose rails."""

from __future__ import annotations

from infra.catalog.host_tuning import readings
from infra.catalog.host_tuning.kinds import GPUS
from infra.catalog.host_tuning.parsers import text, units
from infra.catalog.host_tuning.setting import Compare, Setting, Variable, command, files
from infra.catalog.host_tuning.sysctls import sysctl

WHAT = "Hardening of sshd, audit and kernel that leaves Kubernetes and debuggers working."
"""What the role does."""

VARIABLES = (
    Variable("hardening_kubernetes", "Whether the host is in a cluster, or about to join one.", True,
             "inventory: hosts of a stack are"),
)  # fmt: skip

_KERNEL = "Linux admin-guide/sysctl/kernel.rst"
_FS = "Linux admin-guide/sysctl/fs.rst"
_IP = "Linux networking/ip-sysctl.rst"
_SWITCH = (0, 1)
_ROWS: tuple[tuple[str, int, Compare, tuple[int, ...], str, str, str], ...] = (
    ("kernel.kptr_restrict", 1, "at_least", (), "Who sees addresses of the kernel",
     "they help an attack on the kernel", _KERNEL),
    ("kernel.dmesg_restrict", 1, "equals", _SWITCH, "Who reads the kernel's log; watchers are root",
     "it shows addresses and devices", _KERNEL),
    ("kernel.unprivileged_bpf_disabled", 1, "at_least", (), "Whether programs of anybody may run in the kernel",
     "they read the kernel's memory on some CPUs", _KERNEL),
    ("kernel.randomize_va_space", 2, "equals", (), "Whether addresses of processes are random",
     "an attack knows where to jump", _KERNEL),
    ("fs.suid_dumpable", 0, "equals", (0, 1, 2), "Whether programs that change their user leave core files",
     "secrets of root are in them", _FS),
    ("fs.protected_hardlinks", 1, "equals", _SWITCH, "Whether links to files of others are refused",
     "another user's file is overwritten by way of /tmp", _FS),
    ("fs.protected_symlinks", 1, "equals", _SWITCH,
        "Whether links in shared folders are followed only for their owner",
     "another user's file is overwritten by way of /tmp", _FS),
    ("net.ipv4.tcp_syncookies", 1, "equals", (0, 1, 2), "Whether a flood of connections is answered without memory",
     "the gateway takes no more connections", _IP),
    ("net.ipv4.conf.all.accept_redirects", 0, "equals", _SWITCH, "Whether others may change the host's routes",
     "a neighbour turns traffic to itself", _IP),
    ("net.ipv4.conf.all.send_redirects", 0, "equals", _SWITCH, "Whether the host changes routes of others",
     "pods of one host leave by way of another", _IP),
    ("net.ipv4.conf.all.accept_source_route", 0, "equals", _SWITCH,
        "Whether senders choose the way of their packets",
     "filters are walked around", _IP),
)  # fmt: skip
"""Sysctl, value, how it is compared, choices, what, why, source."""


def _ssh(
    name: str, key: str, value: str, what: str, why: str, *, choices: tuple[str, ...] = ("yes", "no"),
    also: tuple[str, ...] = (), applied: bool = True,
) -> Setting:  # fmt: skip
    """One line of what sshd says of itself."""
    option = key.lower()
    return Setting(
        id=f"hardening.ssh_{name}", variable=f"hardening_ssh_{name}" if applied else "",
        fix="" if applied else f"set {key} {value} in /etc/ssh/sshd_config.d", what=what, why=why, value=value,
        choices=choices, also=also, readings=(readings.SSHD,), parse=text.pattern,
        argument=rf"^{option} (?P<value>\S+)", source=f"sshd_config(5), {key}",
    )  # fmt: skip


SETTINGS = (
    _ssh("passwords", "PasswordAuthentication", "no", "Whether sshd takes passwords", "a password is guessed"),
    _ssh("root", "PermitRootLogin", "prohibit-password", "How root may log in",
    "a password is guessed; plays have a key",
         choices=("no", "prohibit-password", "forced-commands-only"), also=("without-password", "no")),
    _ssh("x11", "X11Forwarding", "no", "Whether sshd forwards X11", "the display of who logs in is open to the host"),
    _ssh("questions", "KbdInteractiveAuthentication", "no", "Whether sshd asks questions, a password among them",
         "a password is guessed", applied=False),
    _ssh("empty_passwords", "PermitEmptyPasswords", "no", "Whether an empty password lets in", "anybody logs in",
         applied=False),
    Setting(
        id="hardening.ssh_tries", variable="hardening_ssh_tries", value=4, compare="at_most", unit="tries",
        what="Keys or passwords that one connection may try", why="passwords are tried out", readings=(readings.SSHD,),
        parse=text.pattern, argument=r"^maxauthtries (?P<value>\d+)", source="CIS Debian benchmark",
    ),
    Setting(
        id="hardening.audit", variable="hardening_audit", choices=("present", "absent"), value="present",
        what="Whether changes of accounts, sshd, kubelet, modules and clock are recorded",
        why="nobody knows who changed a host", readings=(command("auditctl", "-l"),), parse=units.audit_rules,
        source="auditctl(8)",
    ),
    *(sysctl("hardening", key, value, what, why, source, compare=compare, choices=choices)
      for key, value, compare, choices, what, why, source in _ROWS),
    Setting(
        id="hardening.ufw", value="no", parse=text.pattern, what="Firewall ufw", source="azhpc-images",
        why="it stands between ranks: NCCL does not start; policies are the cluster's network's",
        readings=(files("/etc/ufw/ufw.conf", optional=True),), argument=r"^ENABLED=(?P<value>\w+)", fix="ufw disable",
    ),
    Setting(
        id="hardening.firewalld", value="inactive", also=("not-found", "masked"), what="Firewall firewalld",
        source="azhpc-images", parse=units.service, fix="systemctl disable --now firewalld",
        why="it stands between ranks: NCCL does not start; and it drops what kube-proxy forwards",
        readings=(command("systemctl", "show", "firewalld", "--property=LoadState,ActiveState"),),
    ),
    Setting(
        id="hardening.user_namespaces", what="Confinement of user namespaces by AppArmor is on where Ubuntu has it",
        why="it is switched off for rootless runtimes (enroot, bwrap), and stays so", value="1", severity="note",
        readings=(files("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", optional=True),), parse=text.words,
        scope=GPUS, fix="set it back to 1 unless rootless containers run here",
        source="azhpc-images sets 0 on Ubuntu 24.04",
    ),
)  # fmt: skip
"""What others' hardening sets and our hosts must not have is not here: ip_forward 0, rp_filter 1, ptrace_scope 2."""
