"""Facts as short texts for tables."""

from custody.dupes.facts.model import Facts


def declared(facts: Facts) -> list[str]:
    """Return each declaration as ``kind name lines``, with a star if it is exported."""
    return [f"{fact.kind} {fact.name} {fact.lines}{' *' if fact.exported else ''}" for fact in facts.declared]


def exports(facts: Facts) -> list[str]:
    """Return each export as ``name lines``."""
    return [f"{fact.name} {fact.lines}" for fact in facts.exports]


def imports(facts: Facts) -> list[str]:
    """Return the imported modules."""
    return [fact.module for fact in facts.imports]


def suites(facts: Facts) -> list[str]:
    """Return each suite as ``name lines``."""
    return [f"{fact.name} {fact.lines}" for fact in facts.intent.suites]


def names_of_tests(facts: Facts) -> list[str]:
    """Return each test as ``name lines``."""
    return [f"{fact.name} {fact.lines}" for fact in facts.intent.tests]
