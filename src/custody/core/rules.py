"""What the Rules of every domain check alike: each check names the rule, and both rules where two do not fit."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from custody.core.errors import RulesError

PATTERN_SIGNS_MAX = 1000


def check_range(
    rule: str, value: float, *, least: float | None = None, above: float | None = None, most: float | None = None
) -> None:
    """``value`` is a finite number from ``least`` (or above ``above``) to ``most``."""
    if not math.isfinite(value):
        raise RulesError(rule, f"is {value}, not a finite number")
    if least is not None and value < least:
        raise RulesError(rule, f"is {value}, below {least}")
    if above is not None and value <= above:
        raise RulesError(rule, f"is {value}, not above {above}")
    if most is not None and value > most:
        raise RulesError(rule, f"is {value}, above {most}")


def check_ranges(
    table: str,
    values: Mapping[str, float],
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
) -> None:
    """Every one of ``values``, by the rule's name in ``table``, is in the range."""
    for name, value in values.items():
        check_range(f"{table}.{name}", value, least=least, above=above, most=most)


def check_order(*rules: tuple[str, float]) -> None:
    """No rule's value is above the next one's; each is given as name and value."""
    for (rule, value), (other, bound) in pairwise(rules):
        if value > bound:
            raise RulesError(rule, f"is {value}, above '{other}', which is {bound}")


def check_rising(rule: str, values: Sequence[float]) -> None:
    """No entry is below the one before it; equal ones are allowed."""
    for place, (before, after) in enumerate(pairwise(values), start=1):
        if before > after:
            raise RulesError(rule, f"falls from {before} (entry {place}) to {after} (entry {place + 1})")


def check_falling(rule: str, values: Sequence[float]) -> None:
    """No entry is above the one before it; equal ones are allowed."""
    for place, (before, after) in enumerate(pairwise(values), start=1):
        if before < after:
            raise RulesError(rule, f"rises from {before} (entry {place}) to {after} (entry {place + 1})")


def check_length(rule: str, values: Sequence[object], wanted: Sequence[str]) -> None:
    """There is one entry for each of ``wanted``."""
    if len(values) != len(wanted):
        raise RulesError(rule, f"has {len(values)} entries, not {len(wanted)} ({', '.join(wanted)})")


def check_keys(rule: str, values: Iterable[str], wanted: Iterable[str]) -> None:
    """The keys are exactly ``wanted``."""
    given, known = set(values), set(wanted)
    if missing := sorted(known - given):
        raise RulesError(rule, f"has no '{missing[0]}'")
    if unknown := sorted(given - known):
        raise RulesError(rule, f"has '{unknown[0]}', which is none of {', '.join(sorted(known))}")


def check_one_of(rule: str, value: str, allowed: Sequence[str]) -> None:
    """``value`` is one of the words."""
    if value not in allowed:
        raise RulesError(rule, f"is '{value[:80]}', not one of {', '.join(allowed)}")


def check_pattern(rule: str, pattern: str) -> None:
    """``pattern`` is one for paths (``model.globs``) that a person could have written."""
    if not 0 < len(pattern) <= PATTERN_SIGNS_MAX:
        raise RulesError(rule, f"has a pattern of {len(pattern)} signs, not 1 to {PATTERN_SIGNS_MAX}")
