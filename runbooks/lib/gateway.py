"""The gateway from outside and inside: is it ready, what does Envoy count, does a request come back."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from infra.errors import ConfigError, Unknown
from infra.plan.manifests import gateway as manifests
from runbooks.lib.kubernetes import Kubernetes
from runbooks.lib.kubernetes.views import Pod
from runbooks.lib.stack import Stack

# bash alone, because the image has neither curl nor python; the administration listens inside the pod only.
_ADMIN = r"""
exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 7
printf 'GET %s HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n' "$2" >&3
cat <&3
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one test request came to."""

    status: int
    seconds: float
    text: str
    """What the model said, or the reason of a refusal."""
    tokens: int
    """Tokens of the answer (count)."""


@dataclass
class Gateway:
    """The gateway of one stack."""

    stack: Stack
    kube: Kubernetes

    @cached_property
    def url(self) -> str:
        """Base URL for clients outside the cluster, ending in ``/v1``.

        Raises:
            ConfigError: it is reached from inside only.
            Unknown: the cluster has given it no address yet.
        """
        config = self.stack.config.gateway
        if config.service == "NodePort" and config.node_port and self.stack.plan.target.name == "lab":
            return f"http://{self.stack.api_host}:{config.node_port}/v1"
        found = self.kube.get("v1", "Service", manifests.NAMESPACE, manifests.NAME)
        if found is None:
            raise Unknown("gateway — has no Service in the cluster — bring the stack up")
        if config.service == "NodePort":
            hosts = [host for host in self.kube.hosts.list() if host.ready and not host.simulated]
            if not hosts:
                raise Unknown("gateway — no host is ready to answer on its node port")
            return f"http://{hosts[0].address}:{found['spec']['ports'][0]['nodePort']}/v1"
        if config.service == "ClusterIP":
            raise ConfigError("gateway — gateway.service is ClusterIP, so that only pods reach it — name another URL")
        entries = found.get("status", {}).get("loadBalancer", {}).get("ingress", [])
        if not entries:
            raise Unknown("gateway — its load balancer has no address yet — see: kubectl get service -n gateway")
        return f"http://{entries[0].get('ip') or entries[0]['hostname']}:{config.port}/v1"

    def is_ready(self, pod: str = "") -> bool:
        """Whether all its pods, or this one, say that they take requests.

        Raises:
            Unknown: it has no pod, or a pod does not answer.
        """
        pods = [found for found in self.kube.pods.of_gateway() if not pod or found.name == pod]
        if not pods:
            raise Unknown(f"gateway — there is no pod {pod or 'at all'} — see: kubectl get pods -n gateway")
        return all(self._says_ready(found) for found in pods)

    def metrics(self, pod: str) -> str:
        """Prometheus' page of one pod."""
        return self.kube.pods.http(manifests.NAMESPACE, pod, manifests.STATS_PORT, "/stats/prometheus")

    def admin(self, pod: str, path: str) -> str:
        """A page of Envoy's own administration, such as ``/server_info``; only pages that change nothing.

        Raises:
            ConfigError: the page changes something.
            Unknown: Envoy does not answer.
        """
        if not re.match(r"/(stats|clusters|listeners|server_info|config_dump|certs|memory|ready)(/|\?|$)", path):
            raise ConfigError(f"gateway pod {pod} — {path!r} may change Envoy — ask for stats, clusters, listeners, …")
        argv = ["bash", "-c", _ADMIN.strip(), "admin", str(manifests.ADMIN_PORT), path]
        found = self.kube.pods.ask(manifests.NAMESPACE, pod, argv)
        head, _, body = found.stdout.partition("\r\n\r\n")
        if not found.is_ok or " 200 " not in head.partition("\r\n")[0]:
            raise Unknown(f"gateway pod {pod} — Envoy's administration does not answer: {found.stderr or head[:80]!r}")
        return _unchunked(body) if "chunked" in head.lower() else body

    def stats(self, pod: str, only: str = "") -> Mapping[str, float]:
        """Envoy's counters and gauges by name, all or those that match a pattern."""
        page = self.admin(pod, f"/stats?filter={only}" if only else "/stats")
        pairs = (line.partition(": ") for line in page.splitlines())
        return {name: float(value) for name, _, value in pairs if re.fullmatch(r"\d+", value.strip())}

    def ask(self, model: str, *, key: str = "", max_tokens: int = 1, timeout: float = 30.0) -> Answer:
        """Send one small request, as a client does.

        Args:
            key: id of the key to use; left out, the first that opens the model and can be read here.
        Raises:
            Unknown: no answer within the time.
        """
        import httpx

        body = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": max_tokens}
        headers = {"Authorization": f"Bearer {self._key(model, key)}"}
        began = time.monotonic()
        try:
            url = f"{self.url}/chat/completions"
            found = httpx.post(url, json=body, headers=headers, timeout=timeout, trust_env=False)
        except httpx.TransportError as error:
            reason = str(error) or type(error).__name__
            raise Unknown(f"gateway at {self.url} — gives no answer ({reason}) — see that its pods run") from error
        seconds = time.monotonic() - began
        if found.status_code != 200:
            return Answer(found.status_code, seconds, found.text[:200], 0)
        said = found.json()
        text = str(said["choices"][0]["message"].get("content") or "")
        return Answer(200, seconds, text, int(said["usage"]["completion_tokens"]))

    def _key(self, model: str, wanted: str) -> str:
        keys = self.stack.config.keys
        if wanted and wanted not in keys:
            raise ConfigError(f"key {wanted!r} — this stack has {', '.join(sorted(keys))} — name one of them")
        reasons = []
        for name, key in keys.items():
            if (wanted and name != wanted) or (key.models and model not in key.models):
                continue
            if key.secret is not None:
                reasons.append(f"keys.{name} is sealed by Pulumi")
                continue
            try:
                return key.read(self.stack.root).get_secret_value()
            except ConfigError as error:
                reasons.append(f"keys.{name}: {error}")
        found = "; ".join(reasons) or "none opens it"
        raise ConfigError(f"model {model!r} — there is no key to ask with: {found} — add one with secret_file")

    def _says_ready(self, pod: Pod) -> bool:
        status, _ = self.kube.api.fetch(
            "GET", f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}:{manifests.STATS_PORT}/proxy/ready"
        )
        return status == 200


def _unchunked(body: str) -> str:
    """Put a chunked answer together; Envoy's pages are plain ASCII, so lengths count characters too."""
    parts, rest = [], body
    while rest:
        size, _, rest = rest.partition("\r\n")
        length = int(size.split(";")[0] or "0", 16)
        if length == 0:
            break
        parts.append(rest[:length])
        rest = rest[length:].removeprefix("\r\n")
    return "".join(parts)
