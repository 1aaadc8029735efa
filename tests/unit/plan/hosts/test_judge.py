"""Each setting is seen to pass, to fail, and to say that it cannot be told."""

from __future__ import annotations

import pytest

from infra.catalog.host_tuning import SETTINGS, Answer, Setting
from infra.errors import ConfigError
from infra.plan.hosts import Check, HostFacts, Outcome, Wanted, judge, readings, wanted
from tests.unit.plan.hosts.samples import answers, texts

METAL = HostFacts("b300-01", "large", "hgx-b300", "roce")
EACH = pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.id)


def _judged(setting: Setting, given: dict[object, Answer]) -> Check:
    return judge(Wanted(setting, setting.value), given)  # type: ignore[arg-type]  # keys are readings


@EACH
def test_a_right_answer_passes_and_a_wrong_one_fails(setting: Setting) -> None:
    """With what was found and what is wanted."""
    right, wrong = texts(setting)
    assert _judged(setting, answers(setting, right)).outcome is Outcome.PASS  # type: ignore[arg-type]
    check = _judged(setting, answers(setting, wrong))  # type: ignore[arg-type]
    assert check.outcome is Outcome.FAIL
    assert check.found != check.wanted


@EACH
@pytest.mark.parametrize(
    "answer",
    [Answer(), Answer({"": ""}, status=127), Answer({"": ""}, status=1), Answer(error="permission denied")],
    ids=["no file", "no program", "a failure", "not allowed"],
)
def test_no_answer_is_never_a_pass(setting: Setting, answer: Answer) -> None:
    """A host without the file or the program tells nothing (NVSentinel: a failed probe must not clear a fault)."""
    given = dict.fromkeys(setting.readings, answer)
    assert _judged(setting, given).outcome is Outcome.UNKNOWN  # type: ignore[arg-type]


@EACH
def test_what_was_not_asked_is_not_known(setting: Setting) -> None:
    """It is named."""
    check = _judged(setting, {})
    assert (check.outcome, setting.readings[0].ask[0] in check.found) == (Outcome.UNKNOWN, True)


@EACH
def test_a_setting_says_where_it_comes_from(setting: Setting) -> None:
    """Source and reason, and a role that applies it."""
    assert len(setting.source) > 3
    assert len(setting.why) > 10
    assert setting.id.startswith(f"{setting.role}.")
    assert not setting.variable or setting.variable.startswith(f"{setting.role}_")


def test_every_setting_has_one_name() -> None:
    """Of id, variable and the host's own key."""
    for names in (
        [item.id for item in SETTINGS],
        [i.variable for i in SETTINGS if i.variable],
        [i.key for i in SETTINGS if i.key],
    ):
        assert len(set(names)) == len(names)


def test_a_board_that_is_not_known_has_no_settings() -> None:
    """It is not taken for another one (OCI's check had no row for B300 and passed)."""
    with pytest.raises(ConfigError, match=r"'hgx-b301' is not known, .* did you mean 'hgx-b300'"):
        wanted(HostFacts("b300-01", "large", "hgx-b301", "roce"))


@pytest.mark.parametrize(
    ("host", "has", "lacks"),
    [
        (METAL, {"pcie.acs", "kernel_settings.gc_thresh3", "kernel_settings.ip_forward"}, set()),
        (HostFacts("vm", "p", "hgx-h100", "roce", machine="virtual"), {"kernel_settings.gc_thresh3"}, {"pcie.acs"}),
        (HostFacts("ib", "p", "hgx-h100", "infiniband"), {"pcie.acs"}, {"kernel_settings.gc_thresh3"}),
        (HostFacts("dev", "p", "hgx-h100", "none", kubernetes=False), {"pcie.acs"}, {"kernel_settings.ip_forward"}),
    ],
    ids=["metal with RoCE", "a guest", "InfiniBand", "outside a cluster"],
)
def test_a_host_has_the_settings_of_its_kind(host: HostFacts, has: set[str], lacks: set[str]) -> None:
    """A guest needs ACS on; neighbours matter where addresses do."""
    found = {item.setting.id for item in wanted(host)}
    assert has <= found
    assert not lacks & found


def test_what_settings_share_is_asked_once() -> None:
    """Of four that read lspci two do so alike."""
    items = wanted(METAL)
    asked = readings(items)
    assert len(asked) == len(set(asked)) < sum(len(item.setting.readings) for item in items)


def test_many_cpus_are_told_in_few_words() -> None:
    """The different values, not 256 times the same one."""
    setting = next(item for item in SETTINGS if item.id == "cpu.governor")
    files = {f"/sys/devices/system/cpu/cpu{n}/cpufreq/scaling_governor": f"g{n % 6}\n" for n in range(256)}
    check = _judged(setting, {setting.readings[0]: Answer(files)})
    assert check.found == "g0, g1, g2, g3 and 2 more"
