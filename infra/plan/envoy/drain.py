"""How a gateway pod leaves without cutting a stream, told to stock Envoy by the pod's preStop hook."""

from __future__ import annotations

from datetime import timedelta

from infra.plan.envoy.listeners import STAT_PREFIX

TEARDOWN = timedelta(seconds=5)
"""What Envoy needs from SIGTERM to its end, with no stream open; below 2 s when seen, the rest is margin."""

# bash alone, because stock Envoy images have it and neither curl nor python. Positional: port, pre_stop, drain.
# A refused connection to the administration means that Envoy is gone: there is nothing left to wait for.
_SCRIPT = r"""
port=$1 wait=$2 drain=$3
admin() {
  exec 3<>"/dev/tcp/127.0.0.1/$port" || return 1
  printf '%s %s HTTP/1.1\r\nHost: drain\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' "$1" "$2" >&3
  cat <&3
  exec 3>&-
}
admin POST /healthcheck/fail >/dev/null || exit 1
sleep "$wait"
admin POST '/drain_listeners?inboundonly' >/dev/null || exit 1
end=$((SECONDS + drain))
while [ "$SECONDS" -le "$end" ]; do
  stats=$(admin GET '/stats?filter=^http\.PREFIX\.downstream_rq_active$') || exit 1
  case $stats in *'downstream_rq_active: 0'*) exit 0 ;; esac
  sleep 0.5
done
"""


def pre_stop_command(*, admin_port: int, pre_stop: timedelta, drain: timedelta) -> list[str]:
    """Build the preStop hook: fail readiness, wait while still accepting, close the door, wait for open streams.

    Args:
        admin_port: Envoy's administration on 127.0.0.1.
        pre_stop: how long new requests may still arrive after readiness has failed.
        drain: longest wait for streams that are open then; it ends with the last of them.
    """
    script = _SCRIPT.strip().replace("PREFIX", STAT_PREFIX)
    waits = [str(admin_port), f"{pre_stop.total_seconds():g}", str(round(drain.total_seconds()))]
    return ["bash", "-c", script, "drain", *waits]
