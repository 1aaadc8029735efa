"""Cost follows from the price, the hosts that are held and the work that is asked for."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from infra.catalog.boards import BOARDS
from infra.catalog.gpus import GPUS
from infra.catalog.prices import REFERENCES, Price
from infra.config.pools import Pool
from infra.config.prices import BoardPrice
from infra.plan.cost import Work, cost, price_of, priced_units, work_of
from infra.plan.speed import Band, Load, Speed
from tests.unit.plan.specs import plan_of

PRICE = Price(3.6, "pools.gpus.usd_per_gpu_hour", "", "the stack file")
WORK = Work(prompt=3000, output=500, requests_per_s=2.0, prompt_share=0.25)
SAID = BoardPrice.model_validate({"usd_per_gpu_hour": 2.5, "as_of": "2026-11-01", "source": "contract 4711"})


def _speed(ttft_s: float, tokens_per_s: float) -> Speed:
    band = Band(0.8, 1.2)
    return Speed(ttft_s, 0.02, tokens_per_s, tokens_per_s, band, band, "test", (), "memory", 1.0)


def test_tokens_in_and_out_pay_for_the_request() -> None:
    """What a request costs is what its prompt and its answer cost together, and not a cent more."""
    paid = cost(PRICE, used=8, held=8, replicas=4, work=WORK)
    assert paid.usd_per_request
    assert paid.usd_per_million_in
    assert paid.usd_per_million_out
    parts = 3000 * paid.usd_per_million_in + 500 * paid.usd_per_million_out
    assert parts / 1e6 == pytest.approx(paid.usd_per_request)


def test_a_flat_price_pays_for_the_hosts() -> None:
    """8 GPUs at 3.60 an hour are 28.80, and 4 replicas at 2 requests a second answer 28,800 of them."""
    assert cost(PRICE, used=8, held=8, replicas=4, work=WORK).usd_per_request == pytest.approx(0.001)


def test_hosts_that_are_held_are_paid_whole() -> None:
    """Five GPUs of a host that nobody else may use cost eight, by the hour and by the token."""
    paid = cost(PRICE, used=5, held=8, replicas=5, work=WORK)
    assert (paid.usd_per_hour, paid.floor_usd_per_hour) == pytest.approx((18.0, 28.8))
    assert paid.usd_per_request == pytest.approx(28.8 / (5 * 2 * 3600))


@pytest.mark.parametrize("share", [0.5, 0.25, 0.1], ids=str)
def test_half_the_load_doubles_the_price_of_a_token(share: float) -> None:
    """The hosts cost the same, busy or not."""
    full, part = (cost(PRICE, used=8, held=8, replicas=1, work=WORK, share=asked) for asked in (1.0, share))
    assert full.usd_per_million_out
    assert part.usd_per_million_out == pytest.approx(full.usd_per_million_out / share)
    assert part.floor_usd_per_hour == full.floor_usd_per_hour


@pytest.mark.parametrize(("work", "share"), [(None, 1.0), (WORK, 0.0)], ids=["speed not known", "nobody asks"])
def test_without_work_only_the_hour_has_a_price(work: Work | None, share: float) -> None:
    """A price by the token would be a guess, or a division by nothing."""
    paid = cost(PRICE, used=8, held=8, replicas=1, work=work, share=share)
    assert paid.floor_usd_per_hour == pytest.approx(28.8)
    assert (paid.usd_per_request, paid.usd_per_million_in, paid.usd_per_million_out) == (None, None, None)


def test_a_prompt_takes_the_time_it_takes_alone() -> None:
    """1,000 tokens a second in answers of 500 are 2 requests a second; a prompt alone takes 0.1 s: a fifth."""
    work = work_of(_speed(2.0, 1000), _speed(0.1, 60), Load(3000, 500, 32))
    assert (work.requests_per_s, work.prompt_share) == pytest.approx((2.0, 0.2))


def test_prompts_never_take_more_than_all_the_time() -> None:
    """A prediction may say so at the edge of its error; the answers would then have a negative price."""
    assert work_of(_speed(9.0, 1000), _speed(0.8, 60), Load(3000, 500, 32)).prompt_share == 1.0


@pytest.mark.parametrize(
    ("own", "said", "usd", "basis"),
    [
        (1.9, SAID, 1.9, "pools.gpus.usd_per_gpu_hour"),
        (None, SAID, 2.5, "prices.hgx-h100"),
        (None, None, 4.5, "reference"),
    ],
    ids=["the pool's own", "the user's table", "nobody says"],
)
def test_the_users_price_comes_before_the_reference(
    own: float | None, said: BoardPrice | None, usd: float, basis: str
) -> None:
    """Ours stands in only where the user says nothing, and is marked."""
    pool = Pool.model_validate({"board": "hgx-h100", "hosts": 1, "usd_per_gpu_hour": own})
    price = price_of("gpus", pool, BOARDS["hgx-h100"], said)
    assert price
    assert (price.usd_per_gpu_hour, price.basis, price.is_reference) == (usd, basis, basis == "reference")


@pytest.mark.parametrize("board", ["hgx-b300", "lab-host"])
def test_where_nobody_says_there_is_no_price(board: str) -> None:
    """No public price of a B300 could be cited, and a guess is worse than none."""
    pool = Pool.model_validate({"board": board, "hosts": 1})
    assert price_of("gpus", pool, BOARDS[board], None) is None


def test_a_price_of_the_table_says_since_when_and_where_it_is_written() -> None:
    """Without date and source nobody can tell a price from a rumour."""
    price = price_of("gpus", Pool.model_validate({"board": "hgx-h100", "hosts": 1}), BOARDS["hgx-h100"], SAID)
    assert price
    assert (price.as_of, price.source) == ("2026-11-01", "contract 4711")


@pytest.mark.parametrize(("board", "units"), [("hgx-h100", 24), ("lab-host", 3)])
def test_a_host_without_gpus_is_paid_once(board: str, units: int) -> None:
    """Three hosts of eight GPUs are paid 24 times, three without any three times."""
    assert priced_units(BOARDS[board], 3) == units


@pytest.mark.parametrize("gpu", REFERENCES)
def test_a_reference_is_of_a_known_gpu_and_says_where_it_is_from(gpu: str) -> None:
    """A mistyped name would be a price that nobody finds."""
    assert gpu in GPUS
    assert REFERENCES[gpu].is_reference
    assert len(REFERENCES[gpu].source) >= 20


TABLE = {"prices": {"hgx-h100": {"usd_per_gpu_hour": 2.5, "as_of": date(2026, 11, 1), "source": "contract 4711"}}}
"""A change by which the stack says what its boards cost; YAML reads the day as a date."""


def test_a_pool_costs_what_the_stack_says_of_its_board() -> None:
    """Four hosts of eight GPUs at 2.50, with the day and the contract beside it."""
    (pool,) = plan_of(TABLE).pools
    assert pool.price == Price(2.5, "prices.hgx-h100", "2026-11-01", "contract 4711")
    assert pool.usd_per_hour == 80.0


@pytest.mark.parametrize(("changes", "alerted"), [({}, []), (TABLE, ["gpus"])], ids=["reference", "the user's"])
def test_nobody_is_woken_up_by_a_reference(changes: dict[str, Any], alerted: list[str]) -> None:
    """An alert on cost is made of what the user pays, never of what others may pay."""
    seen = plan_of({"observability/storage": {"size_gib": 100}, **changes}).observability
    assert seen
    assert list(seen.prices) == alerted
