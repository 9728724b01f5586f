"""Which sources a call opened, listed or tried to open, and how each was read: one rule for every agent's tools.

An agent's tables say which rule a tool follows and which fields hold its input and its answer. Unknown results are
never guessed: an attempt that did not certainly fail leaves open what it returned.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import chain, islice

from custody.capture.command_facts import ToolOutput
from custody.capture.shell import ShellCommand, commands
from custody.capture.tool_use import LOCATOR_CHARS_MAX, SourceUse
from custody.capture.typed_field import Fields, clean, fields, get_string, items, json_in, text
from custody.core.views import Reading, Text

# Which addresses a shell command opens, by its own text, and whether its end tells how that went.
# Pure. An address that a command merely writes down (``echo``, a here-document of ``cat``, a commit's message) is not
# opened by it.


GITHUB = "https://github.com/"

_WEB_IN_COMMAND = re.compile(r"https?://[^\s<>\"'`\\|;)]+", re.IGNORECASE)
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
    told = (
        ((url, CommandOutcome.UNTOLD) for url in _WEB_IN_COMMAND.findall(command))
        if steps is None
        else _in_steps(steps)
    )
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
        yield from ((url, CommandOutcome.UNTOLD) for said in texts for url in _WEB_IN_COMMAND.findall(said))
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
        if _WEB_IN_COMMAND.fullmatch(word):
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


LISTED_MAX = 100
"""The hits of one search that are stored."""
MATCHES_MAX = 10_000
"""The matches of one search in files that are looked through for names."""
OUTPUT_CHARS_MAX = 30_000
"""Claude Code shows no more of what a command printed."""
MCP = "mcp__"
"""How the names of servers' tools begin in custody."""
CUT = "Warning: truncated output"
"""How an output begins that Codex cut before the model saw it."""
WHOLE = frozenset(("cat",))
SOME = frozenset("head tail nl sed less more".split())
VALUES = {"head": ("-n", "-c"), "tail": ("-n", "-c"), "nl": ("-w", "-s", "-v"), "sed": ("-e", "-f")}
"""Options that are followed by a value."""
SEARCHERS = frozenset("rg grep".split())

_CODE = re.compile(r"(?:status(?: code)?|error|HTTP)[: /\d.]*? ?\b([1-5]\d\d)\b", re.IGNORECASE)
_WEB = re.compile(r"https?://[^\s<>\"'`\\]+", re.IGNORECASE)
_LINKS = re.compile(r"^Links: (\[.*\])$", re.MULTILINE)
_HIT = re.compile(
    r"^(?:Title: *(?P<title>[^\n]*)\n+)?(?:URL|Link): *(?P<url>https?://\S+)$", re.MULTILINE | re.IGNORECASE
)
_GREPPED = re.compile(r"^((?:[A-Za-z]:)?[^:\n]*[^\d:\n][^:\n]*):\d+[:-]", re.MULTILINE)
_NUMBERED = re.compile(r"\d+[:-]")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_OPENING = frozenset("fetch scrape crawl crawling extract read get navigate browse open view visit".split())


def code_in(words: str) -> int | None:
    """The code that a server answered with, by words that name it."""
    match = _CODE.search(words)
    return None if match is None else int(match[1])


def failed_use(locator: str, code: int | None = None) -> SourceUse:
    """A source that was not read."""
    return SourceUse(locator, Reading.ATTEMPTED, code=code, failed=True)


# --- files and pages --------------------------------------------------------------------------------------------------


def file_use(path: str | None, content: Text | None, *, whole: bool, failed: bool) -> Iterator[SourceUse]:
    """A file that a tool showed, or a part of it."""
    if path is not None and failed:
        yield failed_use(path)
    elif path is not None:
        yield SourceUse(path, Reading.VERBATIM if whole else Reading.EXCERPT, text=content)


def page_use(url: str, reading: Reading, content: Text | None, *, code: int | None, failed: bool) -> SourceUse:
    """A page that a tool fetched. A redirect to another host is reported, not followed: that page was not read."""
    if failed or (code is not None and not 200 <= code < 300):
        return failed_use(url, code)
    return SourceUse(url, reading, text=content, code=code)


# --- searches ---------------------------------------------------------------------------------------------------------


def hit_uses(hits: Iterable[tuple[object, object]]) -> Iterator[SourceUse | None]:
    """What a search listed, by locators and titles; None for a hit without a locator."""
    for locator, title in islice(hits, LISTED_MAX):
        named = get_string(title)
        cut = None if named is None else clean(named)[:LOCATOR_CHARS_MAX]
        yield SourceUse(locator, Reading.LISTED, title=cut) if isinstance(locator, str) else None


def search_uses(hits: Sequence[Fields], words: str, *, failed: bool) -> Iterator[SourceUse | None]:
    """What a web search listed; where no hits are reported, those that the words link."""
    if not failed:
        linked = hits or [fields(hit) for links in _LINKS.findall(words) for hit in items(json_in(links))]
        yield from hit_uses([(hit.get("url"), hit.get("title")) for hit in linked])


def match_uses(
    printed: str, path: str | None = None, names: Sequence[object] = (), *, failed: bool = False
) -> Iterator[SourceUse | None]:
    """The files of which a search in files printed lines, else the files that it named; ``path`` is where it searched.

    >>> [use.locator for use in match_uses("src/app.py:3:import os")]
    ['src/app.py']
    """
    if failed:
        return
    passages = dict.fromkeys(match[1] for match in islice(_GREPPED.finditer(printed), LISTED_MAX * 100))
    if path is not None and _NUMBERED.match(printed):
        # Lines of a single file come without its name.
        passages = {path: None}
    yield from (SourceUse(name, Reading.EXCERPT) for name in islice(passages, LISTED_MAX))
    if not passages:
        yield from hit_uses((name, None) for name in names)


def as_printed(names: Iterable[str]) -> str:
    """Names of files with matches as ``grep -n`` prints them."""
    return "".join(f"{name}:1:\n" for name in dict.fromkeys(names))


# --- tools of servers -------------------------------------------------------------------------------------------------


def server_uses(tool: str, given: Fields, shown: str, *, failed: bool, error: str) -> Iterator[SourceUse | None]:
    """What a tool of some server did with URLs; its own name says whether it opens pages, ``error`` may name a code."""
    words = {word.lower() for word in _WORD.findall(tool.rpartition("__")[2])}
    named = [given.get("url"), given.get("uri"), *items(given.get("urls"))]
    urls = [url for url in named if isinstance(url, str) and _WEB.fullmatch(url)]
    for url in dict.fromkeys(urls):
        if words & _OPENING and failed:
            yield failed_use(url, code_in(error))
        elif not words & _OPENING or not shown.strip():
            yield SourceUse(url, Reading.ATTEMPTED)
        else:
            # Such tools turn a page into text and cut it: how much of it that is, none of them says.
            yield SourceUse(url, Reading.EXCERPT, text=text(shown) if len(urls) == 1 else None)
    if "search" in words and not urls and not failed:
        yield from hit_uses(_hits(shown))


def shown_text(answer: object, words: str) -> str:
    """What a tool of some server returned, as text."""
    blocks = items(answer) or items(fields(answer).get("content"))
    texts = [get_string(fields(block).get("text")) for block in blocks]
    return get_string(answer) or "\n".join(filter(None, texts)) or words


def _hits(shown: str) -> Iterator[tuple[object, object]]:
    """The hits of a search in the two shapes that are clear: JSON with URLs, or lines with title and URL."""
    told = json_in(shown)
    results = fields(told).get("results") if isinstance(told, dict) else told
    for hit in map(fields, items(results)):
        yield hit.get("url"), hit.get("title")
    if not items(results):
        for match in _HIT.finditer(shown):
            yield match["url"], match["title"]


# --- commands ---------------------------------------------------------------------------------------------------------


def shell_uses(
    command: str | None, answer: ToolOutput, folder: str | None, *, failed: bool, error: str
) -> Iterator[SourceUse]:
    """The URLs that a shell command opened and the files that it showed; ``folder`` is where it was run.

    A file counts as read where the command's own text names it and its output was shown.
    """
    urls = command_uses(command, answer.words, failed=failed, error=error)
    shown = _shown_uses(command, answer, folder, failed=failed)
    yield from islice(filter(None, chain(urls, shown)), LISTED_MAX)


def command_uses(
    command: str | None, printed: str, *, failed: bool, error: str, stopped: bool = False
) -> Iterator[SourceUse]:
    """The URLs that a shell command opened, by its own text and by how it ended; ``error`` may name a code."""
    if command is None or ("http" not in command.lower() and "gh" not in command):
        return
    for url, outcome in islice(opened_by(command), LISTED_MAX):
        if outcome is CommandOutcome.TOLD and failed and not stopped:
            yield failed_use(url, code_in(error))
        elif outcome is CommandOutcome.TOLD and printed.strip() and not failed and not stopped:
            reading = Reading.VERBATIM if len(printed) < OUTPUT_CHARS_MAX else Reading.EXCERPT
            yield SourceUse(url, reading, text=text(printed))
        else:
            yield SourceUse(url, Reading.ATTEMPTED)


def _shown_uses(
    command: str | None, answer: ToolOutput, folder: str | None, *, failed: bool
) -> Iterator[SourceUse | None]:
    for step in (commands(command) or ()) if command is not None and not answer.running else ():
        name = (step.words[0] or "").rpartition("/")[2] if step.words else ""
        if step.shown and (name in WHOLE or name in SOME):
            yield from (_shown_file(answer, step, name, _below(folder, file)) for file in _files(name, step.words[1:]))
        elif step.shown and name in SEARCHERS and not failed:
            words = [word for word in step.words[1:] if word and not word.startswith("-")]
            for use in match_uses(answer.words, words[1] if len(words) == 2 else None):
                yield None if use is None else SourceUse(_below(folder, use.locator), use.reading)


def _shown_file(answer: ToolOutput, step: ShellCommand, name: str, path: str) -> SourceUse:
    if answer.failed:
        # Of several commands it is unknown which one failed.
        return SourceUse(path, Reading.ATTEMPTED, failed=step.alone)
    whole = step.alone and name in WHOLE and len(step.words) == 2 and not answer.words.startswith(CUT)
    return SourceUse(path, Reading.VERBATIM, text=text(answer.words)) if whole else SourceUse(path, Reading.EXCERPT)


def _files(name: str, words: Sequence[str | None]) -> list[str]:
    """The files that a command shows, by its words; none where a word is left to expand, or nothing is shown."""
    if any(word is None for word in words) or (
        name == "sed" and any((word or "").startswith(("-i", "--in")) for word in words)
    ):
        return []
    files, left, scripted = list[str](), iter(words), name != "sed"
    for word in left:
        if word is None or (word.startswith("-") and len(word) > 1):
            if word in VALUES.get(name, ()):
                scripted = True
                next(left, None)
        elif not scripted:
            scripted = True
        elif word != "-":
            files.append(word)
    return files


def _below(folder: str | None, name: str) -> str:
    return name if folder is None else posixpath.normpath(posixpath.join(folder, name))
