"""The page of the gate's reasons."""

from custody.gate.model import CODES, ReasonCode, ReasonInfo
from custody.gate.rules import GateRules
from tools import markdown


def reasons_page() -> str:
    """``reasons.md``."""
    rules = GateRules()
    table = markdown.table(
        ("code", "level", "what it means", "what to do"),
        [_row(code, about, rules) for code, about in CODES.items()],
    )
    return (
        "# Reasons of the gate\n\n"
        "`custody gate` gives each of its reasons one of these codes. The level is the default; `gate.levels` sets it"
        " ([rules](rules.md)), but no code milder than another one that lost evidence would turn into it"
        " ([gate](../gate.md)).\n\n"
        f"{table}"
    )


def _row(code: ReasonCode, about: ReasonInfo, rules: GateRules) -> tuple[str, ...]:
    meaning, remedy = markdown.text(about.meaning), markdown.text(about.remedy)
    return f"`{code.value}`", rules.level(code).value, meaning, remedy
