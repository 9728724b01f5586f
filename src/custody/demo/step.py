"""What a story is made of: steps with a sentence each, things that happen, and commands with what they must say."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass

from custody.demo.changes import SampleHistory

Happens = Callable[[SampleHistory], None]
PIPE = " | "


@dataclass(frozen=True, slots=True)
class Command:
    """A line as one would type it, and what the story claims of its answer.

    ``says`` must be in what it prints, ``never`` must not. Of long answers the first ``lines`` are shown, or those that
    have one of the words of ``only``. ``about`` is said before it; what ``happens``, happens before it.
    """

    line: str
    status: int = 0
    says: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    lines: int = 10
    only: tuple[str, ...] = ()
    about: str | None = None
    happens: Happens | None = None

    @property
    def arguments(self) -> tuple[str, ...]:
        """What ``custody`` is given."""
        return tuple(shlex.split(self.line.rpartition(PIPE)[2])[1:])

    @property
    def given_by(self) -> tuple[str, ...]:
        """The command whose output is piped in; empty without one.

        >>> Command("git show HEAD:a.md | custody cite audit -").given_by
        ('git', 'show', 'HEAD:a.md')
        """
        return tuple(shlex.split(self.line.rpartition(PIPE)[0]))


@dataclass(frozen=True, slots=True)
class StoryStep:
    """One heading of the story; what happens, happens before its commands are run."""

    title: str
    sentence: str
    commands: tuple[Command, ...] = ()
    happens: Happens | None = None
