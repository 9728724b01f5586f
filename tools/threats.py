"""The table of attacks in docs/threat-model.md, from what ``python -m tests.attacks --write`` found."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tools.problems import Problem, Undocumented

PAGE = "docs/threat-model.md"
RESULTS = "tests/attacks/results.json"
BEGIN = "<!-- attacks: generated from tests/attacks/results.json by make docs -->\n"
END = "<!-- end of attacks -->\n"
STALE = "the table of attacks is outdated; run: make docs"
UNMARKED = f"has no table between '{BEGIN.strip()}' and '{END.strip()}'"
TEAM, WITNESSED, ALONE = "team policy", "witnessed store", "no policy"


def check(root: Path) -> list[Problem]:
    """Return what is wrong with the table on the page, if the page exists."""
    page = root / PAGE
    if not page.is_file():
        return []
    text = page.read_text("utf-8")
    try:
        wanted = with_attacks(text, root)
    except Undocumented as error:
        return [Problem(PAGE, 0, str(error))]
    return [] if text == wanted else [Problem(PAGE, 0, STALE)]


def write(root: Path) -> list[Problem]:
    """Update the table on the page, if the page exists; return what was outdated."""
    problems = check(root)
    if problems:
        page = root / PAGE
        page.write_text(with_attacks(page.read_text("utf-8"), root), "utf-8")
    return problems


def with_attacks(text: str, root: Path) -> str:
    """``text`` with the present table between its markers; raises ``Undocumented`` without markers or results."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    results = root / RESULTS
    if not begin or not end:
        raise Undocumented(UNMARKED)
    if not results.is_file():
        raise Undocumented(f"needs '{RESULTS}'; run: python -m tests.attacks --write")
    return f"{before}{BEGIN}{attacks_table(json.loads(results.read_text('utf-8')))}{END}{after}"


def attacks_table(results: Mapping[str, Any]) -> str:
    """Return a summary and one row for each attack, by attacker."""
    gained = sum(not outcome["withstood"] for entry in results.values() for outcome in entry["outcomes"].values())
    runs = sum(len(entry["outcomes"]) for entry in results.values())
    rows = [
        f"| {entry['attacker']} | {entry['does']} | {', '.join(entry['ways'])} |"
        f" {verdicts(entry['outcomes'].get(TEAM) or entry['outcomes'].get(WITNESSED))} |"
        f" {verdicts(entry['outcomes'].get(ALONE))} |"
        for entry in sorted(results.values(), key=lambda entry: str(entry["attacker"]))
    ]
    return "\n".join(
        (
            f"{len(results)} attacks, {runs} runs with and without a policy, {gained} successful.",
            "",
            "| who | the attacker … | way in | with a team policy | without a policy |",
            "|---|---|---|---|---|",
            *rows,
            "",
        )
    )


def verdicts(outcome: Mapping[str, Any] | None) -> str:
    """Return the verdicts before and after, the assurance of an approval, and whether the attack succeeded."""
    if outcome is None:
        return ""
    levels = outcome["after"] if outcome["before"] == outcome["after"] else f"{outcome['before']} → {outcome['after']}"
    assurance = f" ({outcome['assurance']})" if outcome["assurance"] else ""
    return f"{levels}{assurance}{'' if outcome['withstood'] else ', **succeeds**'}"
