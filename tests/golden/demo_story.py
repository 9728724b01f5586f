"""Every command of ``custody demo``, once as text and once as JSON."""

import os
import pwd
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from custody.cli.main import main
from custody.demo.narrator import STORY, play_demo_story
from custody.demo.sandbox import CommandResult, InProcessCommand
from tests.golden.machine import Masks

_FRACTION = re.compile(r"(T?\d\d:\d\d:\d\d)\.\d+")
_NANOSECONDS = re.compile(r"\b(17\d{8})\d{9}\b")
_DECIMALS = re.compile(r"(\d\.\d{6})\d+")
_PYTHON = re.compile(r"/[^\s\"';]*/bin/python[0-9.]*")
_FOLDER = re.compile(r"/[^\s\"']*custody-demo-\w+")
PLAIN_ONLY = frozenset({"completion", "--version", "report"})


@dataclass
class Recorder:
    """Replaces the demo's own runner: runs each command and records its output."""

    is_json: bool
    masks: Masks = field(default_factory=lambda: Masks(Path("/nowhere")))
    lines: list[str] = field(default_factory=list)

    def run(self, words: Sequence[str], stdin: bytes = b"") -> CommandResult:
        """Run ``custody <words>``; commands that the story runs with JSON run only once."""
        verbs = InProcessCommand(main)
        if words[0] == "record" or words[:2] == ("doctor", "--json"):
            return verbs.run(words, stdin)
        if not self.is_json:
            ran = verbs.run(words, stdin)
            self._note(words, ran)
            return ran
        asked = words if {"--json", "--format"} & set(words) or words[0] in PLAIN_ONLY else (*words, "--json")
        ran = verbs.run(asked, stdin)
        self._note(asked, ran)
        return ran

    def _note(self, words: Sequence[str], ran: CommandResult) -> None:
        self.lines += [f"$ custody {self._masked(' '.join(words))}", f"[exit {ran.status}]"]
        self.lines += self._masked(ran.out).splitlines()
        self.lines += [f"stderr: {line}" for line in self._masked(ran.err).splitlines()]
        self.lines.append("")

    def _masked(self, text: str) -> str:
        text = _PYTHON.sub("PYTHON", _FOLDER.sub("FOLDER", text))
        # The story's clock advances a little with each reading: seconds and six decimals of a score stay.
        text = _DECIMALS.sub(r"\1", text)
        text = _NANOSECONDS.sub(r"\g<1>000000000", _FRACTION.sub(r"\1", text))
        return self.masks.apply(text.replace(f'"{pwd.getpwuid(os.getuid()).pw_name}"', '"USER"'))


def play(*, is_json: bool) -> str:
    """Play the whole story and return the output of its commands."""
    recorder = Recorder(is_json)
    play_demo_story(recorder, lambda _kind, _line: None, STORY)  # type: ignore[arg-type]
    return "\n".join(recorder.lines)
