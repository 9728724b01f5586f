"""Which addresses a shell command opens, by its own text, and whether its end tells how that went.

Pure. An address that a command merely writes down (``echo``, a here-document of ``cat``, a commit's message) is not
opened by it.
"""

import re
from collections.abc import Iterator
from enum import Enum

from custody.capture.shell import ShellCommand, commands

GITHUB = "https://github.com/"

_WEB = re.compile(r"https?://[^\s<>\"'`\\|;)]+", re.IGNORECASE)
_WRITERS = frozenset("echo printf cat tee sed grep rg awk".split())
_PULLING = frozenset("clone fetch pull ls-remote remote submodule".split())
_SAYING = frozenset("create edit comment close reopen merge review".split())
_FLAGS = re.compile(r"-[sSfLkgv46#N]+")
_CURL_FLAGS = frozenset("--silent --show-error --location --fail --fail-with-body --compressed --insecure".split())
_CURL_VALUES = frozenset("-A --user-agent -H --header -m --max-time --connect-timeout --retry -e --referer".split())
_WGET_FLAGS = frozenset("-q --quiet -nv --no-verbose".split())
_WGET_OUT = frozenset(("-O-", "-qO-", "--output-document=-"))


class CommandOutcome(Enum):
    """Whether the end of a command tells how it went."""

    TOLD = "told"
    """It succeeds only if the page came, and then prints all of it and nothing else."""
    UNTOLD = "untold"


def opened_by(command: str) -> Iterator[tuple[str, CommandOutcome]]:
    """The addresses that ``command`` opens, each once, in order.

    >>> list(opened_by("curl -fsSL https://example.org/a"))
    [('https://example.org/a', <CommandOutcome.TOLD: 'told'>)]
    >>> list(opened_by("echo 'see https://example.org/a' > notes.md"))
    []
    """
    steps = commands(command)
    known: set[str] = set()
    told = ((url, CommandOutcome.UNTOLD) for url in _WEB.findall(command)) if steps is None else _in_steps(steps)
    for url, outcome in told:
        if url not in known:
            known.add(url)
            yield url, outcome


def _in_steps(steps: tuple[ShellCommand, ...]) -> Iterator[tuple[str, CommandOutcome]]:
    for step in steps:
        name = (step.words[0] or "").rpartition("/")[2] if step.words else ""
        if name in ("curl", "wget") and step.alone and (url := _find_url(name, step.words[1:])) is not None:
            yield url, CommandOutcome.TOLD
            continue
        if name in _WRITERS or (name == "git" and not _PULLING.intersection(step.words[1:3])):
            continue
        saying = name in ("gh", "glab") and bool(_SAYING.intersection(step.words[1:3]))
        texts = [] if saying else [*(word for word in step.words[1:] if word), step.here or ""]
        yield from ((url, CommandOutcome.UNTOLD) for said in texts for url in _WEB.findall(said))
        if name == "gh" and not saying:
            # It may have shown anything of the host.
            yield GITHUB, CommandOutcome.UNTOLD


def _find_url(name: str, words: tuple[str | None, ...]) -> str | None:
    """The one address of a command that prints the page or fails; None for any other."""
    urls: list[str] = []
    fails = name == "wget"
    prints = name == "curl"
    left = iter(words)
    for word in left:
        if word is None:
            return None
        if _WEB.fullmatch(word):
            urls.append(word)
        elif name == "curl" and (_FLAGS.fullmatch(word) or word in _CURL_FLAGS):
            fails = fails or word.startswith("--fail") or (word[1] != "-" and "f" in word)
        elif name == "curl" and word in _CURL_VALUES:
            next(left, None)
        elif name == "wget" and (word in _WGET_OUT or word == "-O"):
            prints = word != "-O" or next(left, None) == "-"
        elif name != "wget" or word not in _WGET_FLAGS:
            return None
    return urls[0] if len(urls) == 1 and fails and prints else None
