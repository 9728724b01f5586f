"""Tells a story: plays it in a sandbox, shows it line by line, and checks that every answer is the one it claims."""

import json
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any

import msgspec

from custody.core.errors import InputError
from custody.core.wire.report import Report
from custody.demo.changes import SampleHistory
from custody.demo.first_half import ASKED, RECORDED
from custody.demo.sandbox import CommandResult, InProcessCommand, Sandbox, sandbox
from custody.demo.second_half import JUDGED, KEPT
from custody.demo.step import Command, StoryStep

# What ``custody demo`` answers: every command of the story, and whether it answered as the story claims.


class DemoCommand(msgspec.Struct, frozen=True):
    """A command as one would type it, its exit status, and what the story claims that its answer does not bear out."""

    line: str
    status: int
    as_told: bool
    wrong: list[str]


class DemoStep(msgspec.Struct, frozen=True):
    """One heading of the story with its commands."""

    title: str
    commands: list[DemoCommand]


class DemoReport(Report, frozen=True, kw_only=True, tag="demo"):
    """The story as it went; ``folder`` is the repository if it was kept."""

    steps: list[DemoStep]
    folder: str | None = None


WIDTH = 118
INDENT = "   "
_EVENT_ID = re.compile(r"\b\d{20}-\d+-[0-9a-f]{16}\b|\b[0-9a-f]{32}\b")
# The number of a process is part of an event's name, and may have a digit more or less.
_SIZE = re.compile(r"\([0-9,]+ bytes\)")
_DIGEST = re.compile(r"\bsha256:[0-9a-f]{64}\b")


class OutputKind(Enum):
    """What a told line is, so that a terminal can show it so."""

    HEADING = "heading"
    SENTENCE = "sentence"
    COMMAND = "command"
    OUTPUT = "output"
    WRONG = "wrong"


Show = Callable[[OutputKind, str], None]


def tell(verbs: InProcessCommand, show: Show, story: Sequence[StoryStep], *, keep: bool = False) -> DemoReport:
    """Play and show the whole story; the report says of each command whether it answered as the story claims."""
    with sandbox(keep=keep) as place:
        teller = _Narrator(place, verbs, show)
        steps = [teller.step(number, step) for number, step in enumerate(story, 1)]
    wrong = any(not command.as_told for step in steps for command in step.commands)
    return DemoReport(outcome="found" if wrong else "fine", steps=steps, folder=str(place.repository) if keep else None)


@dataclass(frozen=True)
class _Narrator:
    """The one who tells, in a place."""

    place: Sandbox
    verbs: InProcessCommand
    show: Show

    def step(self, number: int, step: StoryStep) -> DemoStep:
        """Play and show one step."""
        self.show(OutputKind.HEADING, f"{number}. {step.title}")
        self._say(step.sentence, "")
        if step.happens is not None:
            step.happens(self._history)
        return DemoStep(title=step.title, commands=[self._command(command) for command in step.commands])

    @property
    def _history(self) -> SampleHistory:
        return SampleHistory(self.place, self._record, self._hook)

    def _command(self, command: Command) -> DemoCommand:
        if command.happens is not None:
            command.happens(self._history)
        if command.about is not None:
            self.show(OutputKind.OUTPUT, "")
            self._say(command.about, f"{INDENT}# ")
        self.show(OutputKind.COMMAND, f"{INDENT}$ {command.line}")
        ran = self.verbs.run(command.arguments, self._given(command.given_by))
        for line in _shown(_readable(ran, self.place), command):
            self.show(OutputKind.OUTPUT, f"{INDENT}{line}".rstrip())
        wrong = list(_wrong(ran, command))
        for sentence in wrong:
            self.show(OutputKind.WRONG, f"{INDENT}NOT AS TOLD: {sentence}")
        return DemoCommand(line=command.line, status=ran.status, as_told=not wrong, wrong=wrong)

    def _say(self, sentence: str, indent: str) -> None:
        for line in textwrap.wrap(sentence, WIDTH, initial_indent=indent, subsequent_indent=indent):
            self.show(OutputKind.SENTENCE, line)

    def _given(self, words: Sequence[str]) -> bytes:
        """What the command before the pipe says."""
        if not words:
            return b""
        said = " ".join(words[1:]) if words[0] == "echo" else self.place.git(*words[1:])
        return said.encode()

    def _record(self, agent: str, event: dict[str, Any]) -> None:
        """Have one event recorded by ``custody record``."""
        ran = self.verbs.run(("record", "--agent", agent), json.dumps(event).encode())
        if ran.out or ran.err:
            raise InputError(f"an event of {agent} was not recorded: {ran.out}{ran.err}")

    def _hook(self, agent: str, event: dict[str, Any]) -> None:
        """Have one event recorded by the hook that was installed."""
        said = self.place.hook(self._hook_command, json.dumps(event).encode())
        if said:
            raise InputError(f"the hook of {agent} complained: {said}")

    @cached_property
    def _hook_command(self) -> list[str]:
        """What the agent's settings have run, as the doctor tells it."""
        command: list[str] = json.loads(self.verbs.run(("doctor", "--json")).out)["hook"]["command"]
        return command


def _wrong(ran: CommandResult, command: Command) -> Iterator[str]:
    """What the story claims and the answer does not bear out."""
    said = ran.out + ran.err
    if ran.status != command.status:
        yield f"exit status {ran.status}, not {command.status}"
    yield from (f"it does not say {words!r}" for words in command.says if words not in said)
    yield from (f"it says {words!r}" for words in command.never if words in said)


def _readable(ran: CommandResult, place: Sandbox) -> str:
    """What was printed, with the sandbox's own names shortened and what is drawn by chance left out."""
    said = (ran.out + ran.err).replace(f"{place.repository}/", "").replace(str(place.repository), ".")
    said = said.replace(str(place.folder), "..")
    return _SIZE.sub("(... bytes)", _DIGEST.sub("sha256:...", _EVENT_ID.sub("<id>", said)))


def _shown(said: str, command: Command) -> Iterator[str]:
    """The beginning of an answer, or the lines that matter, broken to the width."""
    lines = [line for line in said.splitlines() if line.strip()]
    kept = [line for line in lines if not command.only or any(word in line for word in command.only)]
    for line in kept[: command.lines]:
        yield from _broken(line)
    left = len(lines) - len(kept[: command.lines])
    if left:
        yield f"... {left} more line(s)"


def _broken(line: str) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False, replace_whitespace=False)


# The story itself: every verb in turn. A new verb is a command in one of these steps, or a step of its own.


STORY: tuple[StoryStep, ...] = (*RECORDED, *ASKED, *JUDGED, *KEPT)
"""Everything that is told, in order: a new chapter goes in here."""
