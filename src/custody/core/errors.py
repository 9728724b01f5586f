"""Error families: each says whose turn it is, and the one table from family to exit status and HTTP status."""

from enum import Enum


class CustodyError(Exception):
    """Base of every error custody raises on purpose; ``hint`` says what to do next."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(CustodyError):
    """The caller's turn: a path, a range, an argument or a file of theirs is not usable."""


class RulesError(InputError):
    """A rule has a value it cannot have; ``rule`` is its dotted name."""

    def __init__(self, rule: str, problem: str, *, hint: str | None = None) -> None:
        super().__init__(f"'{rule}' {problem}", hint=hint)
        self.rule = rule


class MissingExtra(InputError):
    """Something needs a package that is not installed; ``extra`` brings it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed", hint=f"install it with: pip install 'custody[{extra}]'")
        self.extra = extra


class WorldError(CustodyError):
    """The surroundings' turn: git, a store, a disk or the network did not do its part."""


class GitError(WorldError):
    """git failed; the message carries git's own words."""


class StoreError(WorldError):
    """The store cannot be opened, read or written."""


class SpoolError(WorldError):
    """An event could not be made durable; it is not acknowledged."""


class RetryLater(WorldError):
    """Somebody outside asks us to come again, not before ``seconds`` have passed."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message, hint=f"it is asked again in {seconds} s")
        self.seconds = seconds


class Outcome(Enum):
    """How a verb that ran to its end came out."""

    FINE = "fine"
    FOUND = "found"
    """It found what it looks for: damage, a failed audit, a blocked change. The author's turn."""


EXIT = {Outcome.FINE: 0, Outcome.FOUND: 1}
EXIT_BUG = 4
HTTP_BUG = 500

_FAMILIES: tuple[tuple[type[CustodyError], int, int], ...] = ((InputError, 2, 422), (WorldError, 3, 503))


def exit_status(error: BaseException) -> int:
    """The exit status a surface gives for ``error``; 4 is a bug of ours."""
    return next((status for family, status, _ in _FAMILIES if isinstance(error, family)), EXIT_BUG)


def http_status(error: BaseException) -> int:
    """The HTTP status a surface gives for ``error``; 500 is a bug of ours."""
    return next((status for family, _, status in _FAMILIES if isinstance(error, family)), HTTP_BUG)
