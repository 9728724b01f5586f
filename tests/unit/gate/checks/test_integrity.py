"""Changed evidence blocks; a change that edits rules needs a review."""

from msgspec.structs import replace

from custody.gate.model import RecordState, VerdictLevel
from tests.unit.gate.builders import UNSEEN, a_change, agents, codes, level, verdict


def test_damage_blocks_and_is_named() -> None:
    damage = ("record 2 is missing", "another", "a third", "a fourth")
    (reason,) = verdict(a_change(agents(), recorded=RecordState(damage=damage))).reasons
    assert (reason.code.value, reason.level) == ("INTEG-DAMAGE", VerdictLevel.BLOCK)
    assert reason.sentence == (
        "the store was changed after recording: record 2 is missing; another; a third; and 1 more"
    )


def test_a_store_that_cannot_be_read_blocks() -> None:
    seen = a_change(agents(), recorded=UNSEEN)
    assert codes(seen) == ["INTEG-UNSEEN", "ATTR-UNSEEN"]
    assert level(seen) is VerdictLevel.BLOCK


def test_where_nothing_was_recorded_nothing_can_be_damaged() -> None:
    assert codes(replace(a_change(agents()), recorded=None)) == ["ATTR-UNSEEN"]


def test_rules_that_a_change_sets_are_named() -> None:
    changed = tuple(f"gate.rule{number} from 1 to 2" for number in range(7))
    (reason,) = verdict(replace(a_change(agents()), policy=changed)).reasons
    assert (reason.code.value, reason.level) == ("POLICY-CHANGED", VerdictLevel.REVIEW)
    assert reason.sentence.startswith("the change edits rules: gate.rule0 from 1 to 2; ")
    assert reason.sentence.endswith("gate.rule4 from 1 to 2; and 2 more")
