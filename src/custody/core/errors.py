"""Error families: who has to act, and the table from family to exit status and HTTP status."""

from enum import Enum


class CustodyError(Exception):
    """Base of every error custody raises on purpose; ``hint`` says what to do next."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InputError(CustodyError):
    """The caller must act: a path, a range, an argument or a file is not usable."""


class RulesError(InputError):
    """A rule has an invalid value; ``rule`` is its dotted name."""

    def __init__(self, rule: str, problem: str, *, hint: str | None = None) -> None:
        super().__init__(f"'{rule}' {problem}", hint=hint)
        self.rule = rule


DISTRIBUTION = "git-custody"
"""The name of custody on the package index."""


def install_hint(extra: str) -> str:
    """Return the commands that add an extra, for each tool that people install custody with.

    >>> print(install_hint("mcp").replace("; ", "\\n"))
    pip install 'git-custody[mcp]'
    pipx install --force 'git-custody[mcp]'
    uv tool install 'git-custody[mcp]'
    """
    wanted = f"'{DISTRIBUTION}[{extra}]'"
    return f"pip install {wanted}; pipx install --force {wanted}; uv tool install {wanted}"


class MissingExtra(InputError):
    """A required package is not installed; ``extra`` installs it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed", hint=install_hint(extra))
        self.extra = extra


class WorldError(CustodyError):
    """The environment failed: git, a store, a disk or the network."""


class GitError(WorldError):
    """git failed; the message has git's own message."""


class StoreError(WorldError):
    """The store cannot be opened, read or written."""


class SpoolError(WorldError):
    """An event could not be stored durably; it is not acknowledged."""


class RetryLater(WorldError):
    """A remote service asks us to retry, not before ``seconds`` have passed."""

    def __init__(self, message: str, seconds: int) -> None:
        super().__init__(message, hint=f"retrying in {seconds} s")
        self.seconds = seconds


class Outcome(Enum):
    """The outcome of a verb that ran to its end."""

    FINE = "fine"
    FOUND = "found"
    """It found damage, a failed audit or a blocked change: the author must act."""


EXIT = {Outcome.FINE: 0, Outcome.FOUND: 1}
EXIT_BUG = 4
HTTP_BUG = 500

_FAMILIES: tuple[tuple[type[CustodyError], int, int], ...] = ((InputError, 2, 422), (WorldError, 3, 503))


def exit_status_from_error(error: BaseException) -> int:
    """Return the exit status for ``error``; 4 is a bug in custody."""
    return next((status for family, status, _ in _FAMILIES if isinstance(error, family)), EXIT_BUG)


def http_status_from_error(error: BaseException) -> int:
    """Return the HTTP status for ``error``; 500 is a bug in custody."""
    return next((status for family, _, status in _FAMILIES if isinstance(error, family)), HTTP_BUG)
