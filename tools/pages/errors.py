"""The page of exit statuses: the errors of each status."""

import inspect
from types import ModuleType

from custody.core import errors
from custody.core.errors import EXIT, EXIT_BUG, HTTP_BUG, CustodyError, Outcome
from tools import markdown

HTTP_FINE = 200
OUTCOMES = {
    Outcome.FINE: "the verb did its job and found nothing to complain about",
    Outcome.FOUND: "it found what it looks for: damage, a failed audit, a blocked change; the author's turn",
}


def errors_page() -> str:
    """``errors.md``."""
    table = markdown.table(("exit", "HTTP", "what", "who can fix it"), [*_outcomes(), *_families(errors), _bug()])
    return (
        "# Exit statuses\n\n"
        "Every verb ends with one of these; the service answers the same cases with the HTTP status beside it.\n\n"
        f"{table}\n"
        "An error is printed on standard error: what failed, then a hint that says what to do next.\n"
    )


def _outcomes() -> list[tuple[str, ...]]:
    return [(str(EXIT[outcome]), str(HTTP_FINE), outcome.value, OUTCOMES[outcome]) for outcome in Outcome]


def _families(module: ModuleType) -> list[tuple[str, ...]]:
    """Return every error of ``module`` by exit status, base classes first."""
    kinds = [kind for kind in vars(module).values() if inspect.isclass(kind) and issubclass(kind, CustodyError)]
    named = [kind for kind in kinds if kind is not CustodyError]
    return sorted((_family(kind) for kind in named), key=lambda row: row[0])


def _family(kind: type[CustodyError]) -> tuple[str, ...]:
    error = kind.__new__(kind)  # the statuses depend on the class alone; constructors differ
    says = " ".join((inspect.getdoc(kind) or "").partition("\n\n")[0].split())
    parent = "" if CustodyError in kind.__bases__ else f", a kind of `{kind.__bases__[0].__name__}`"
    status, http = errors.exit_status_from_error(error), errors.http_status_from_error(error)
    return (str(status), str(http), f"`{kind.__name__}`{parent}", markdown.text(says))


def _bug() -> tuple[str, ...]:
    return (str(EXIT_BUG), str(HTTP_BUG), "anything else", "ours: a bug; please report it with what was printed")
