"""What the attacks achieved, as committed for the table in docs/threat-model.md."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.attacks.model import Attack, Outcome, Setting

FILE = Path(__file__).with_name("results.json")
HINT = "run: python -m tests.attacks --write, then make docs"


def describe_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return what is committed about an outcome: levels, assurance of an approval, whether it gained."""
    assurance = outcome.after.assurance if outcome.after.level == "approve" else None
    return {
        "before": outcome.before.level,
        "after": outcome.after.level,
        "assurance": assurance,
        "withstood": not outcome.faults,
    }


def describe_attack(attack: Attack, outcomes: Mapping[Setting, Outcome]) -> dict[str, Any]:
    """Return the committed entry of an attack."""
    return {
        "attacker": attack.attacker.value,
        "ways": [way.value for way in attack.ways],
        "does": attack.does,
        "outcomes": {setting.value: describe_outcome(outcome) for setting, outcome in outcomes.items()},
    }


def load_results() -> dict[str, Any]:
    """Return the committed results by the name of the attack; none before the first run."""
    results: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.is_file() else {}
    return results


def save_results(results: Mapping[str, Any]) -> None:
    """Write the results."""
    FILE.write_text(json.dumps(results, indent=1) + "\n", "utf-8")
