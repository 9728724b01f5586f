"""Facts in a form that fits into a table."""

from custody.dupes.facts.model import Facts


def declared(facts: Facts) -> list[str]:
    """Each declaration as ``kind name lines``, with a star if it is exported."""
    return [f"{one.kind} {one.name} {one.lines}{' *' if one.exported else ''}" for one in facts.declared]


def exports(facts: Facts) -> list[str]:
    """Each export as ``name lines``."""
    return [f"{one.name} {one.lines}" for one in facts.exports]


def imports(facts: Facts) -> list[str]:
    """The modules that the file asks for."""
    return [one.module for one in facts.imports]


def suites(facts: Facts) -> list[str]:
    """Each suite as ``name lines``."""
    return [f"{one.name} {one.lines}" for one in facts.intent.suites]


def names_of_tests(facts: Facts) -> list[str]:
    """Each test as ``name lines``."""
    return [f"{one.name} {one.lines}" for one in facts.intent.tests]
