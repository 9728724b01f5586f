"""The parts of a story: steps with a sentence, actions, and commands with their expected output."""

import shlex
from collections.abc import Callable

from msgspec import Struct

from custody.demo.changes import SampleHistory

Happens = Callable[[SampleHistory], None]
PIPE = " | "


class Command(Struct, frozen=True):
    """A command line and its expected result.

    The output must contain ``says`` and must not contain ``never``. Of long output the first ``lines`` are shown, or
    those with a word of ``only``. ``about`` is printed before the command, and ``happens`` runs before it. A command is
    skipped where the program ``needs`` is not installed.
    """

    line: str
    status: int = 0
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    lines: int = 10
    only: tuple[str, ...] = ()
    about: str | None = None
    happens: Happens | None = None
    needs: str | None = None

    @property
    def arguments(self) -> tuple[str, ...]:
        """Return the arguments for ``custody``."""
        return tuple(shlex.split(self.line.rpartition(PIPE)[2])[1:])

    @property
    def piped_command(self) -> tuple[str, ...]:
        """Return the command before the pipe; empty without a pipe.

        >>> Command("git show HEAD:a.md | custody cite audit -").piped_command
        ('git', 'show', 'HEAD:a.md')
        """
        return tuple(shlex.split(self.line.rpartition(PIPE)[0]))


class StoryStep(Struct, frozen=True):
    """One heading of the story; ``happens`` runs before its commands."""

    title: str
    sentence: str
    commands: tuple[Command, ...] = ()
    happens: Happens | None = None
