"""Every attack, with and without a policy on the base branch: none makes a verdict milder under the policy."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attacks.catalog import ATTACKS
from tests.attacks.ground import Ground
from tests.attacks.model import Attack, Attacker, Setting, WayIn
from tests.attacks.results import HINT, describe_attack, describe_outcome, load_results
from tests.attacks.target import carry_out

ATTACKS_MIN = 36
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

    recorded = load_results().get(attack.name, {}).get("outcomes", {}).get(setting.value)
    assert recorded == describe_outcome(outcome), f"results.json is outdated about {attack.name}; {HINT}"


def test_the_committed_results_are_about_these_attacks() -> None:
    recorded = {
        name: {key: entry[key] for key in ("attacker", "ways", "does")} for name, entry in load_results().items()
    }
    wanted = {name: {**describe_attack(attack, {})} for name, attack in ATTACKS.items()}
    assert recorded == {
        name: {key: entry[key] for key in ("attacker", "ways", "does")} for name, entry in wanted.items()
    }, HINT
    assert len(ATTACKS) >= ATTACKS_MIN


def test_every_attacker_and_way_in_is_tried() -> None:
    assert {attack.attacker for attack in ATTACKS.values()} == set(Attacker)
    assert {way for attack in ATTACKS.values() for way in attack.ways} == set(WayIn)
