"""Each setting is seen to pass, to fail, and to say that it cannot be told."""

from __future__ import annotations

import pytest

from infra.catalog.boards import BOARDS
from infra.catalog.host_tuning import ROLES, SETTINGS, Answer, Means, Setting
from infra.plan.hosts import Outcome, judge
from tests.unit.catalog.host_tuning.samples import BY_ID, answers, item, texts

EACH = pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.id)
NEEDED = [setting for setting in SETTINGS if not all(reading.optional for reading in setting.readings)]


@EACH
def test_a_right_answer_passes(setting: Setting) -> None:
    """And nothing is to be done."""
    wanted = item(setting)
    check = judge(wanted, answers(wanted, texts(setting)[0]))
    assert (check.outcome, check.action, check.evidence) == (Outcome.PASS, "", ""), check


@EACH
def test_a_wrong_answer_fails_and_says_what_to_do(setting: Setting) -> None:
    """With what was found, where, and what is wanted."""
    wanted = item(setting)
    check = judge(wanted, answers(wanted, texts(setting)[1]))
    assert check.outcome is Outcome.FAIL, check
    assert check.found != check.wanted
    assert check.action
    assert check.evidence


@pytest.mark.parametrize("setting", NEEDED, ids=lambda setting: setting.id)
@pytest.mark.parametrize(
    "answer",
    [Answer(), Answer({"": ""}, status=127), Answer({"": ""}, status=1), Answer(error="permission denied")],
    ids=["no file", "no program", "a failure", "not allowed"],
)
def test_no_answer_is_never_a_pass(setting: Setting, answer: Answer) -> None:
    """A host without the file or the program tells nothing (NVSentinel: a failed probe must not clear a fault)."""
    wanted = item(setting)
    # A status is a program's; files that say nothing are files that are not there.
    given = {
        reading: Answer(error=answer.error) if reading.means is Means.FILES else answer for reading in wanted.readings
    }
    assert judge(wanted, given).outcome is Outcome.UNKNOWN


@EACH
def test_what_may_not_be_read_is_not_known(setting: Setting) -> None:
    """Optional or not: an error is no absence."""
    wanted = item(setting)
    check = judge(wanted, dict.fromkeys(wanted.readings, Answer(error="/x: permission denied")))
    assert (check.outcome, check.found) == (Outcome.UNKNOWN, "/x: permission denied")


@EACH
def test_what_was_not_asked_is_not_known(setting: Setting) -> None:
    """It is named."""
    wanted = item(setting)
    check = judge(wanted, {})
    assert (check.outcome, wanted.readings[0].ask[0] in check.found) == (Outcome.UNKNOWN, True)


@EACH
def test_a_setting_says_where_it_comes_from_and_who_mends_it(setting: Setting) -> None:
    """Source and reason, and a role that applies it or what to do by hand."""
    assert len(setting.source) > 3
    assert len(setting.why) > 10
    assert setting.variable.startswith(f"{setting.role}_") if setting.variable else setting.fix


def test_every_setting_has_one_name() -> None:
    """Of id, variable and the host's own key; samples have no other."""
    for names in (
        [one.id for one in SETTINGS],
        [one.variable for one in SETTINGS if one.variable],
        [one.key for one in SETTINGS if one.key],
    ):
        assert sorted(names) == sorted(set(names))
    assert set(BY_ID) <= {one.id for one in SETTINGS}


def test_a_setting_is_with_its_role() -> None:
    """Its id begins with the role that lists it, and so do the role's other variables."""
    for role in ROLES:
        assert {one.role for one in role.settings} == {role.name}
        assert all(one.name.startswith(f"{role.name}_") for one in role.variables)


def test_scopes_and_cases_name_boards_that_there_are() -> None:
    """A board that is renamed is not left behind in a scope."""
    scopes = [scope for one in SETTINGS for scope in (one.scope, *(case.scope for case in one.cases))]
    assert {board for scope in scopes for board in scope.boards} <= set(BOARDS)


def test_a_default_is_one_of_the_choices() -> None:
    """Of each variable that has choices, cases included."""
    for one in SETTINGS:
        values = [value for value in (one.value, *(case.value for case in one.cases)) if value is not None]
        assert not one.choices or set(values) <= set(one.choices), one.id
    for other in (variable for role in ROLES for variable in role.variables):
        assert not other.choices or other.default in other.choices, other.name
