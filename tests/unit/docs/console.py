"""Terminal sessions on a page: the input after ``$``, and the output that the page shows.

The character ``…`` matches anything on its line; a line with only ``…`` matches any number of lines. A word of seven or
more hexadecimal digits matches any such word, because ids differ from run to run.
"""

import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from tests.builders.in_process import custody_printing

LANGUAGE = "console"
PROMPT = "$ "
ANY = "…"
FAILED_MIN = 2
"""Status 1 is a result (a gate that blocks, an audit with findings); higher ones are failures."""
_SHELL = frozenset("|&;<>$`(){}*?[]~#!\n")
"""Characters that may mean something to a shell."""
_HEX = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,64}\b")


@dataclass(frozen=True, slots=True)
class Step:
    """A command on a page, with its line and its expected output."""

    line: int
    command: str
    prints: tuple[str, ...]


def steps(page: str, language: str = LANGUAGE) -> Iterator[Step]:
    """Yield the commands of all blocks in ``language``, in order."""
    for block in MarkdownIt("commonmark").parse(page):
        if block.type == "fence" and block.info == language:
            first = (block.map or [0])[0] + 2
            yield from _of_block(first, block.content.splitlines())


def _of_block(first: int, lines: Sequence[str]) -> Iterator[Step]:
    starts = [number for number, line in enumerate(lines) if line.startswith(PROMPT)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield Step(first + start, lines[start].removeprefix(PROMPT), tuple(lines[start + 1 : end]))


def printed(step: Step, folder: Path, environment: Mapping[str, str]) -> list[str]:
    """Return the output of the command, both streams together; a failure is an error."""
    status, said = _run(step.command, folder, environment)
    assert status < FAILED_MIN, f"line {step.line}: '{step.command}' ended with {status}: {said}"
    return [line.rstrip() for line in said.splitlines()]


def _run(command: str, folder: Path, environment: Mapping[str, str]) -> tuple[int, str]:
    """Run a plain command of ours in this process, everything else in a shell."""
    program, *words = shlex.split(command)
    if program == "custody" and not _SHELL.intersection(command):
        return custody_printing(folder, words, environment)
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout.decode()


def pattern(lines: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern that matches the lines of a page.

    >>> bool(pattern(["a 6a9c540d5b9c", "…", "z … z"]).fullmatch("a 0123456789ab\\nb\\nc\\nz y z\\n"))
    True
    >>> bool(pattern(["a", "z"]).fullmatch("a\\nb\\nz\\n"))
    False
    """
    return re.compile("".join(r"(?:.*\n)*?" if line == ANY else f"{_of_line(line)}\n" for line in lines))


def _of_line(line: str) -> str:
    whole = []
    for part in line.split(ANY):
        words = _HEX.split(part)
        whole.append("[0-9a-f]{7,64}".join(map(re.escape, words)))
    return ".*".join(whole)


def wrong(step: Step, said: Sequence[str]) -> str | None:
    """Return the difference between output and page, if any."""
    told = "".join(f"{line}\n" for line in said)
    if pattern(step.prints).fullmatch(told):
        return None
    return f"line {step.line}: '{step.command}' prints\n{told}"
