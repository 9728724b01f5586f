"""Carry out the attacks.

python -m tests.attacks [NAME...]             print what each achieves
python -m tests.attacks --write [NAME...]     also write results.json, for the table in docs/threat-model.md
"""

import sys
import tempfile
from pathlib import Path

import pytest

from tests.attacks.catalog import ATTACKS
from tests.attacks.ground import Ground
from tests.attacks.model import Attack, Outcome, Setting
from tests.attacks.results import describe_attack, load_results, save_results
from tests.attacks.target import carry_out
from tests.house.guard import forget_user_settings, give_home


def main(arguments: list[str]) -> int:
    """Carry out the named attacks; return 1 if one gains anything."""
    is_write, names = "--write" in arguments, [argument for argument in arguments if argument != "--write"]
    chosen = [attack for name, attack in ATTACKS.items() if not names or name in names]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        forget_user_settings(patch)
        outcomes = _carry_out_all(chosen, Path(folder), patch)
    if is_write:
        made = {attack.name: describe_attack(attack, outcomes[attack.name]) for attack in chosen}
        known = load_results() | made
        save_results({name: known[name] for name in ATTACKS if name in known})
    return int(any(outcome.faults for made in outcomes.values() for outcome in made.values()))


def _carry_out_all(chosen: list[Attack], folder: Path, patch: pytest.MonkeyPatch) -> dict[str, dict[Setting, Outcome]]:
    give_home(patch, folder)
    grounds = {setting: Ground(setting, folder / setting.name.lower()) for setting in Setting}
    outcomes: dict[str, dict[Setting, Outcome]] = {}
    for attack in chosen:
        made = outcomes[attack.name] = {}
        for setting in attack.settings:
            home = folder / attack.name / setting.name.lower()
            home.mkdir(parents=True)
            give_home(patch, home)
            made[setting] = outcome = carry_out(attack, grounds[setting], home)
            print(f"{attack.name}, {setting.value}: {outcome.before.level} -> {outcome.after.level}")
            print("".join(f"  {fault}\n" for fault in outcome.faults), end="", flush=True)
    return outcomes


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
