"""Every attack, with and without a policy on the base branch: none makes a verdict milder under the policy."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attacks.catalog import ATTACKS
from tests.attacks.ground import Ground
from tests.attacks.model import Attack, Attacker, Setting, WayIn
from tests.attacks.target import carry_out

CASES = [(attack, setting) for attack in ATTACKS.values() for setting in attack.settings]


@pytest.mark.parametrize(
    ("attack", "setting"), CASES, ids=[f"{attack.name}-{setting.name.lower()}" for attack, setting in CASES]
)
def test_an_attack_gains_nothing(
    attack: Attack, setting: Setting, ground_of: Callable[[Setting], Ground], tmp_path: Path
) -> None:
    outcome = carry_out(attack, ground_of(setting), tmp_path)
    assert not outcome.faults, "\n".join(
        (
            f"{attack.attacker.value} {attack.does}, with {setting.value}:",
            *outcome.faults,
            f"before: {outcome.before}",
            f"after:  {outcome.after}",
        )
    )


def test_every_attacker_and_way_in_is_tried() -> None:
    assert {attack.attacker for attack in ATTACKS.values()} == set(Attacker)
    assert {way for attack in ATTACKS.values() for way in attack.ways} == set(WayIn)
