"""The rendered gateway, run by the real Envoy, in front of replicas that come and go behind one name."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from infra.plan.envoy import Upstream
from tests.lab.envoy_client import ACME, CHAT, ask, bearer, routes_to
from tests.lab.envoy_process import WEB, Gateway, running, soon
from tests.lab.envoy_stub import Engine


class Names:
    """Stand-in for cluster DNS, used only here: answers every A query with the addresses of the day."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self._socket.close()

    def _serve(self) -> None:
        while True:
            try:
                query, client = self._socket.recvfrom(4096)
            except OSError:
                return
            self._socket.sendto(self._answer(query), client)

    def _answer(self, query: bytes) -> bytes:
        end = query.index(b"\x00", 12) + 5
        found = self.addresses if query[end - 4 : end - 2] == b"\x00\x01" else ()
        head = query[:2] + b"\x81\x80\x00\x01" + len(found).to_bytes(2, "big") + b"\x00\x00\x00\x00"
        rows = [b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x05\x00\x04" + socket.inet_aton(each) for each in found]
        return head + query[12:end] + b"".join(rows)


@pytest.fixture
def replicas() -> Iterator[list[Engine]]:
    first = Engine()
    engines = [first, Engine("127.0.0.2", first.port), Engine("127.0.0.3", first.port)]
    yield engines
    for engine in engines:
        engine.stop()


@pytest.fixture
def names() -> Iterator[Names]:
    names = Names("127.0.0.1", "127.0.0.2", "127.0.0.3")
    yield names
    names.close()


@pytest.fixture
def gateway(replicas: list[Engine], names: Names, tmp_path: Path) -> Iterator[Gateway]:
    tiny = Upstream("tiny", "tiny.models.svc.cluster.local.", replicas[0].port)
    routes = replace(routes_to(replicas[0]), models=(tiny,))
    with running(routes, tmp_path, dns_port=names.port) as gateway:
        yield gateway


def answered(gateway: Gateway, delay: float = 0.0) -> str:
    """Ask once; tell which replica answered, or the status."""
    reply = WEB.post(gateway.url + CHAT, json=ask(stub={"delay": delay}), headers=bearer(ACME))
    return str(reply.json()["replica"]) if reply.status_code == 200 else str(reply.status_code)


def asked_meanwhile(gateway: Gateway, change: Callable[[], None]) -> Counter[str]:
    """Keep four clients asking while something changes; count who answered."""
    stop = threading.Event()

    def client() -> list[str]:
        found = []
        while not stop.is_set():
            found.append(answered(gateway, 0.05))
        return found

    with ThreadPoolExecutor(4) as pool:
        clients = [pool.submit(client) for _ in range(4)]
        try:
            change()
        finally:
            stop.set()
    return Counter(answer for each in clients for answer in each.result())


ALL = {"127.0.0.1", "127.0.0.2", "127.0.0.3"}


def test_busy_replicas_are_spared(gateway: Gateway) -> None:
    """Long requests that arrive one after another spread over the replicas far more evenly than by chance."""

    def late(number: int) -> str:
        time.sleep(number * 0.1)
        return answered(gateway, 5)

    with ThreadPoolExecutor(24) as pool:
        found = Counter(pool.map(late, range(24)))
    assert set(found) == ALL
    assert min(found.values()) >= 6, found


def test_replica_that_leaves_costs_nothing(gateway: Gateway, replicas: list[Engine], names: Names) -> None:
    """A roll: the name drops a replica, which closes some seconds later; no request fails."""

    def roll() -> None:
        time.sleep(1)
        names.addresses = ("127.0.0.2", "127.0.0.3")
        assert soon(lambda: not {answered(gateway) for _ in range(12)} & {"127.0.0.1"})
        replicas[0].die()
        time.sleep(1)

    assert set(asked_meanwhile(gateway, roll)) == ALL


def test_replica_that_dies_costs_nothing(gateway: Gateway, replicas: list[Engine]) -> None:
    """A crash in the middle of answers: none had a first byte yet, so other replicas answer them all."""

    def crash() -> None:
        time.sleep(1)
        replicas[0].die()
        time.sleep(3)

    assert set(asked_meanwhile(gateway, crash)) == ALL


def test_new_replica_gets_its_share(gateway: Gateway, names: Names) -> None:
    """A replica that joins the name is asked within seconds."""
    names.addresses = ("127.0.0.2",)
    assert soon(lambda: {answered(gateway) for _ in range(9)} == {"127.0.0.2"})
    names.addresses = ("127.0.0.2", "127.0.0.3")
    assert soon(lambda: {answered(gateway) for _ in range(9)} == {"127.0.0.2", "127.0.0.3"})
