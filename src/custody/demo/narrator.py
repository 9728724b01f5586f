"""The player of a story: runs it in a sandbox, shows it line by line, and checks every result."""

import json
import textwrap
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import cached_property
from typing import Any

import msgspec

from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.core.plural import count_noun
from custody.core.wire.report import Report
from custody.demo.changes import SampleHistory
from custody.demo.first_half import QUESTIONS, RECORDING
from custody.demo.sandbox import CommandResult, InProcessCommand, Sandbox, has_demo_program, open_demo_sandbox
from custody.demo.second_half import STORE, VERDICTS
from custody.demo.step import Command, StoryStep


class DemoCommand(msgspec.Struct, frozen=True):
    """A command line, its exit status, and how its result differs from the expected one."""

    line: str
    status: int
    as_told: bool
    wrong: list[str]


class DemoStep(msgspec.Struct, frozen=True):
    """One heading of the story with its commands."""

    title: str
    commands: list[DemoCommand]


class DemoReport(Report, frozen=True, kw_only=True, tag="demo"):
    """The result of the story; ``folder`` is the repository if it was kept."""

    steps: list[DemoStep]
    folder: str | None = None


WIDTH = 118
INDENT = "   "
_EVENT_ID = lazy_pattern(r"\b\d{20}-\d+-[0-9a-f]{16}\b|\b[0-9a-f]{32}\b")
# An event's name has the process id, which may have a digit more or less.
_SIZE = lazy_pattern(r"\([0-9,]+ bytes\)")
_DIGEST = lazy_pattern(r"\bsha256:[0-9a-f]{64}\b")
_FINGERPRINT = lazy_pattern(r"\bSHA256:[A-Za-z0-9+/]{43}")


class OutputKind(Enum):
    """The kind of a shown line, for its style."""

    HEADING = "heading"
    SENTENCE = "sentence"
    COMMAND = "command"
    OUTPUT = "output"
    WRONG = "wrong"


Show = Callable[[OutputKind, str], None]


def play_demo_story(
    verbs: InProcessCommand, show: Show, story: Sequence[StoryStep], *, keep: bool = False
) -> DemoReport:
    """Play and show the whole story; report for each command whether its result was as expected."""
    with open_demo_sandbox(keep=keep) as place:
        narrator = _Narrator(place, verbs, show)
        steps = [narrator.step(number, step) for number, step in enumerate(story, 1)]
    wrong = any(not command.as_told for step in steps for command in step.commands)
    return DemoReport(outcome="found" if wrong else "fine", steps=steps, folder=str(place.repository) if keep else None)


class _Narrator(msgspec.Struct, frozen=True, dict=True):
    """Plays steps in a sandbox."""

    place: Sandbox
    verbs: InProcessCommand
    show: Show

    def step(self, number: int, step: StoryStep) -> DemoStep:
        """Play and show one step."""
        self.show(OutputKind.HEADING, f"{number}. {step.title}")
        self._show_sentence(step.sentence, "")
        if step.happens is not None:
            step.happens(self._history)
        return DemoStep(title=step.title, commands=list(self._play_commands(step.commands)))

    @property
    def _history(self) -> SampleHistory:
        return SampleHistory(self.place, self._record, self._hook)

    def _play_commands(self, commands: Sequence[Command]) -> Iterator[DemoCommand]:
        for command in commands:
            if command.needs is None or has_demo_program(command.needs):
                yield self._command(command)
            else:
                self.show(OutputKind.OUTPUT, "")
                self._show_sentence(f"skipped, {command.needs} is not installed: {command.line}", f"{INDENT}# ")

    def _command(self, command: Command) -> DemoCommand:
        if command.happens is not None:
            command.happens(self._history)
        if command.about is not None:
            self.show(OutputKind.OUTPUT, "")
            self._show_sentence(command.about, f"{INDENT}# ")
        self.show(OutputKind.COMMAND, f"{INDENT}$ {command.line}")
        result = self.verbs.run(command.arguments, self._piped_input(command.piped_command))
        for line in _excerpt_demo_output(_normalize_demo_output(result, self.place), command):
            self.show(OutputKind.OUTPUT, f"{INDENT}{line}".rstrip())
        wrong = list(_find_story_mismatches(result, command))
        for sentence in wrong:
            self.show(OutputKind.WRONG, f"{INDENT}NOT AS EXPECTED: {sentence}")
        return DemoCommand(line=command.line, status=result.status, as_told=not wrong, wrong=wrong)

    def _show_sentence(self, sentence: str, indent: str) -> None:
        for line in textwrap.wrap(sentence, WIDTH, initial_indent=indent, subsequent_indent=indent):
            self.show(OutputKind.SENTENCE, line)

    def _piped_input(self, words: Sequence[str]) -> bytes:
        """Return the output of the command before the pipe."""
        if not words:
            return b""
        output = " ".join(words[1:]) if words[0] == "echo" else self.place.git(*words[1:])
        return output.encode()

    def _record(self, agent: str, event: dict[str, Any]) -> None:
        """Record one event with ``custody record``."""
        result = self.verbs.run(("record", "--agent", agent), json.dumps(event).encode())
        if result.out or result.err:
            raise InputError(f"cannot record an event of {agent}: {result.out}{result.err}")

    def _hook(self, agent: str, event: dict[str, Any]) -> None:
        """Record one event with the installed hook."""
        output = self.place.hook(self._hook_command, json.dumps(event).encode())
        if output:
            raise InputError(f"the hook of {agent} failed: {output}")

    @cached_property
    def _hook_command(self) -> list[str]:
        """Return the command in the agent's settings, as reported by the doctor."""
        command: list[str] = json.loads(self.verbs.run(("doctor", "--json")).out)["hook"]["command"]
        return command


def _find_story_mismatches(result: CommandResult, command: Command) -> Iterator[str]:
    """Yield the differences between a result and the expected one."""
    output = result.out + result.err
    if result.status != command.status:
        yield f"exit status {result.status}, not {command.status}"
    yield from (f"output without {text!r}" for text in command.says if text not in output)
    yield from (f"output with {text!r}" for text in command.never if text in output)


def _normalize_demo_output(result: CommandResult, place: Sandbox) -> str:
    """Return the output with the sandbox's paths shortened and random parts replaced."""
    output = (result.out + result.err).replace(f"{place.repository}/", "").replace(str(place.repository), ".")
    output = output.replace(str(place.folder), "..")
    output = _FINGERPRINT.sub("SHA256:...", _DIGEST.sub("sha256:...", _EVENT_ID.sub("<id>", output)))
    return _SIZE.sub("(... bytes)", output)


def _excerpt_demo_output(output: str, command: Command) -> Iterator[str]:
    """Yield the start of the output, or the lines that matter, wrapped to the width."""
    lines = [line for line in output.splitlines() if line.strip()]
    matching = [line for line in lines if not command.only or any(word in line for word in command.only)]
    for line in matching[: command.lines]:
        yield from _wrap_demo_line(line)
    rest = len(lines) - len(matching[: command.lines])
    if rest:
        yield f"... {count_noun(rest, 'more line')}"


def _wrap_demo_line(line: str) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False, replace_whitespace=False)


STORY: tuple[StoryStep, ...] = (*RECORDING, *QUESTIONS, *VERDICTS, *STORE)
"""All steps, in order. A new verb is a command in one of these steps, or a new step."""
