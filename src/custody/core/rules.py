"""Checks that the rules of all domains share; each error names the rule, or both rules in conflict."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from custody.core.errors import RulesError

PATTERN_CHARACTERS_MAX = 1000


def check_rule_range(
    rule: str, value: float, *, least: float | None = None, above: float | None = None, most: float | None = None
) -> None:
    """Raise an error unless ``value`` is finite and from ``least`` (or above ``above``) to ``most``."""
    if not math.isfinite(value):
        raise RulesError(rule, f"is {value}, not a finite number")
    if least is not None and value < least:
        raise RulesError(rule, f"is {value}, below {least}")
    if above is not None and value <= above:
        raise RulesError(rule, f"is {value}, not above {above}")
    if most is not None and value > most:
        raise RulesError(rule, f"is {value}, above {most}")


def check_rule_ranges(
    table: str,
    values: Mapping[str, float],
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
) -> None:
    """Raise an error unless all ``values`` are in the range; the keys are names of rules in ``table``."""
    for name, value in values.items():
        check_rule_range(f"{table}.{name}", value, least=least, above=above, most=most)


def check_rule_order(*rules: tuple[str, float]) -> None:
    """Raise an error if a rule's value is above the next rule's; each is a name and a value."""
    for (rule, value), (other, bound) in pairwise(rules):
        if value > bound:
            raise RulesError(rule, f"is {value}, above '{other}', which is {bound}")


def check_rule_rising(rule: str, values: Sequence[float]) -> None:
    """Raise an error if an entry is below the previous entry; equal entries are allowed."""
    for place, (before, after) in enumerate(pairwise(values), start=1):
        if before > after:
            raise RulesError(rule, f"falls from {before} (entry {place}) to {after} (entry {place + 1})")


def check_rule_falling(rule: str, values: Sequence[float]) -> None:
    """Raise an error if an entry is above the previous entry; equal entries are allowed."""
    for place, (before, after) in enumerate(pairwise(values), start=1):
        if before < after:
            raise RulesError(rule, f"rises from {before} (entry {place}) to {after} (entry {place + 1})")


def check_rule_length(rule: str, values: Sequence[object], wanted: Sequence[str]) -> None:
    """Raise an error unless there is one entry for each of ``wanted``."""
    if len(values) != len(wanted):
        raise RulesError(rule, f"has {len(values)} entries, not {len(wanted)} ({', '.join(wanted)})")


def check_rule_keys(rule: str, values: Iterable[str], wanted: Iterable[str]) -> None:
    """Raise an error unless the keys are exactly ``wanted``."""
    present, known = set(values), set(wanted)
    if missing := sorted(known - present):
        raise RulesError(rule, f"has no '{missing[0]}'")
    if unknown := sorted(present - known):
        raise RulesError(rule, f"has '{unknown[0]}', not one of {', '.join(sorted(known))}")


def check_rule_choice(rule: str, value: str, allowed: Sequence[str]) -> None:
    """Raise an error unless ``value`` is one of ``allowed``."""
    if value not in allowed:
        raise RulesError(rule, f"is '{value[:80]}', not one of {', '.join(allowed)}")


def check_rule_path_pattern(rule: str, pattern: str) -> None:
    """Raise an error unless ``pattern`` has a usable length for a path pattern (``core.paths``)."""
    if not 0 < len(pattern) <= PATTERN_CHARACTERS_MAX:
        raise RulesError(rule, f"has a pattern of {len(pattern)} characters, not 1 to {PATTERN_CHARACTERS_MAX}")
