"""Sources that a call opened, listed or tried to open, and how each was read: the same rules for every agent.

An agent's tables map a tool to a rule and to the fields of its input and output. Results are never guessed: an attempt
that did not certainly fail leaves its result open.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import chain, islice

from custody.capture.shell import ShellCommand, parse_shell_commands
from custody.capture.tool_use import LOCATOR_CHARS_MAX, SourceUse, ToolOutput, ToolUse
from custody.capture.typed_field import (
    Fields,
    get_captured_text,
    get_fields,
    get_items,
    get_string,
    parse_payload_json,
    strip_unstorable_characters,
)
from custody.core.patterns import lazy_pattern
from custody.core.views import Reading, Text

# URLs that a shell command opens, by its own text, and whether its end shows the result. Pure. A URL that a command
# only writes (``echo``, a here-document of ``cat``, a commit's message) is not opened by it.


GITHUB = "https://github.com/"

_WEB_IN_COMMAND = lazy_pattern(r"https?://[^\s<>\"'`\\|;)]+", re.IGNORECASE)
_WRITERS = frozenset("echo printf cat tee sed grep rg awk".split())
_PULLING = frozenset("clone fetch pull ls-remote remote submodule".split())
_PUBLISHING = frozenset("create edit comment close reopen merge review".split())
_FLAGS = lazy_pattern(r"-[sSfLkgv46#N]+")
_CURL_FLAGS = frozenset("--silent --show-error --location --fail --fail-with-body --compressed --insecure".split())
_CURL_VALUES = frozenset("-A --user-agent -H --header -m --max-time --connect-timeout --retry -e --referer".split())
_WGET_FLAGS = frozenset("-q --quiet -nv --no-verbose".split())
_WGET_OUT = frozenset(("-O-", "-qO-", "--output-document=-"))


class CommandOutcome(Enum):
    """Whether the end of a command shows if the page was read."""

    KNOWN = "known"
    """It succeeds only if the page was fetched, and prints all of it and nothing else."""
    UNKNOWN = "unknown"


def find_command_urls(command: str) -> Iterator[tuple[str, CommandOutcome]]:
    """Yield the URLs that ``command`` opens, each once, in order.

    >>> list(find_command_urls("curl -fsSL https://example.org/a"))
    [('https://example.org/a', <CommandOutcome.KNOWN: 'known'>)]
    >>> list(find_command_urls("echo 'see https://example.org/a' > notes.md"))
    []
    """
    steps = parse_shell_commands(command)
    known: set[str] = set()
    candidates = (
        ((url, CommandOutcome.UNKNOWN) for url in _WEB_IN_COMMAND.findall(command))
        if steps is None
        else _find_shell_step_urls(steps)
    )
    for url, outcome in candidates:
        if url not in known:
            known.add(url)
            yield url, outcome


def _find_shell_step_urls(steps: tuple[ShellCommand, ...]) -> Iterator[tuple[str, CommandOutcome]]:
    for step in steps:
        name = (step.words[0] or "").rpartition("/")[2] if step.words else ""
        if name in ("curl", "wget") and step.alone and (url := _find_curl_url(name, step.words[1:])) is not None:
            yield url, CommandOutcome.KNOWN
            continue
        if name in _WRITERS or (name == "git" and not _PULLING.intersection(step.words[1:3])):
            continue
        saying = name in ("gh", "glab") and bool(_PUBLISHING.intersection(step.words[1:3]))
        texts = [] if saying else [*(word for word in step.words[1:] if word), step.here or ""]
        yield from ((url, CommandOutcome.UNKNOWN) for text in texts for url in _WEB_IN_COMMAND.findall(text))
        if name == "gh" and not saying:
            # It may have shown anything of the host.
            yield GITHUB, CommandOutcome.UNKNOWN


def _find_curl_url(name: str, words: tuple[str | None, ...]) -> str | None:
    """Return the only URL of a command that prints the page or fails; None for any other command."""
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
"""Maximum stored hits of one search."""
MATCHES_MAX = 10_000
"""Maximum matches of one search in files that are read for names."""
OUTPUT_CHARS_MAX = 30_000
"""Claude Code shows at most this much of a command's output."""
MCP = "mcp__"
"""Prefix of servers' tools in custody."""
CUT = "Warning: truncated output"
"""Prefix of an output that Codex cut before the model saw it."""
WHOLE = frozenset(("cat",))
SOME = frozenset("head tail nl sed less more".split())
VALUES = {"head": ("-n", "-c"), "tail": ("-n", "-c"), "nl": ("-w", "-s", "-v"), "sed": ("-e", "-f")}
"""Options with a value."""
SEARCHERS = frozenset("rg grep".split())

_CODE = lazy_pattern(r"(?:status(?: code)?|error|HTTP)[: /\d.]*? ?\b([1-5]\d\d)\b", re.IGNORECASE)
_WEB = lazy_pattern(r"https?://[^\s<>\"'`\\]+", re.IGNORECASE)
_LINKS = lazy_pattern(r"^Links: (\[.*\])$", re.MULTILINE)
_HIT = lazy_pattern(
    r"^(?:Title: *(?P<title>[^\n]*)\n+)?(?:URL|Link): *(?P<url>https?://\S+)$", re.MULTILINE | re.IGNORECASE
)
_GREPPED = lazy_pattern(r"^((?:[A-Za-z]:)?[^:\n]*[^\d:\n][^:\n]*):\d+[:-]", re.MULTILINE)
_NUMBERED = lazy_pattern(r"\d+[:-]")
_WORD = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+")
_OPENING = frozenset("fetch scrape crawl crawling extract read get navigate browse open view visit".split())


def parse_http_status(text: str) -> int | None:
    """Return the HTTP status that a text names."""
    match = _CODE.search(text)
    return None if match is None else int(match[1])


def failed_source_use(locator: str, code: int | None = None) -> SourceUse:
    """Return a source that was not read."""
    return SourceUse(locator, Reading.ATTEMPTED, code=code, failed=True)


# --- files and pages --------------------------------------------------------------------------------------------------


def list_file_uses(path: str | None, content: Text | None, *, whole: bool, failed: bool) -> Iterator[SourceUse]:
    """Yield the file, or the part of it, that a tool showed."""
    if path is not None and failed:
        yield failed_source_use(path)
    elif path is not None:
        yield SourceUse(path, Reading.VERBATIM if whole else Reading.EXCERPT, text=content)


def page_source_use(url: str, reading: Reading, content: Text | None, *, code: int | None, failed: bool) -> SourceUse:
    """Return a fetched page. A redirect to another host is reported, not followed: that page was not read."""
    if failed or (code is not None and not 200 <= code < 300):
        return failed_source_use(url, code)
    return SourceUse(url, reading, text=content, code=code)


# --- searches ---------------------------------------------------------------------------------------------------------


def list_search_hit_uses(hits: Iterable[tuple[object, object]]) -> Iterator[SourceUse | None]:
    """Yield the hits of a search, by locators and titles; None for a hit without a locator."""
    for locator, title in islice(hits, LISTED_MAX):
        name = get_string(title)
        cut = None if name is None else strip_unstorable_characters(name)[:LOCATOR_CHARS_MAX]
        yield SourceUse(locator, Reading.LISTED, title=cut) if isinstance(locator, str) else None


def list_web_search_uses(hits: Sequence[Fields], text: str, *, failed: bool) -> Iterator[SourceUse | None]:
    """Yield the hits of a web search; without reported hits, the links in its text."""
    if not failed:
        linked = hits or [
            get_fields(hit) for links in _LINKS.findall(text) for hit in get_items(parse_payload_json(links))
        ]
        yield from list_search_hit_uses([(hit.get("url"), hit.get("title")) for hit in linked])


def list_grep_uses(
    printed: str, path: str | None = None, names: Sequence[object] = (), *, failed: bool = False
) -> Iterator[SourceUse | None]:
    """Yield the files that a search printed lines of, else the files that it named; ``path`` is the searched place.

    >>> [use.locator for use in list_grep_uses("src/app.py:3:import os")]
    ['src/app.py']
    """
    if failed:
        return
    passages = dict.fromkeys(match[1] for match in islice(_GREPPED.finditer(printed), LISTED_MAX * 100))
    if path is not None and _NUMBERED.match(printed):
        # Lines of a single file have no file name.
        passages = {path: None}
    yield from (SourceUse(name, Reading.EXCERPT) for name in islice(passages, LISTED_MAX))
    if not passages:
        yield from list_search_hit_uses((name, None) for name in names)


def format_grep_output(names: Iterable[str]) -> str:
    """Return file names as matches of ``grep -n``."""
    return "".join(f"{name}:1:\n" for name in dict.fromkeys(names))


# --- tools of servers -------------------------------------------------------------------------------------------------


def list_server_tool_uses(
    tool: str, arguments: Fields, shown: str, *, failed: bool, error: str
) -> Iterator[SourceUse | None]:
    """Yield the URLs of a server's tool; its name shows whether it opens pages, ``error`` may name a status."""
    words = {word.lower() for word in _WORD.findall(tool.rpartition("__")[2])}
    candidates = [arguments.get("url"), arguments.get("uri"), *get_items(arguments.get("urls"))]
    urls = [url for url in candidates if isinstance(url, str) and _WEB.fullmatch(url)]
    for url in dict.fromkeys(urls):
        if words & _OPENING and failed:
            yield failed_source_use(url, parse_http_status(error))
        elif not words & _OPENING or not shown.strip():
            yield SourceUse(url, Reading.ATTEMPTED)
        else:
            # Such tools convert a page to text and cut it; none of them reports how much.
            yield SourceUse(url, Reading.EXCERPT, text=get_captured_text(shown) if len(urls) == 1 else None)
    if "search" in words and not urls and not failed:
        yield from list_search_hit_uses(_parse_search_hits(shown))


SourceReader = Callable[[ToolUse], Iterator[SourceUse | None]]
"""Reads the sources of a call of one tool."""


def list_opened_sources(
    use: ToolUse,
    readers: Mapping[str, SourceReader],
    *,
    is_server_tool: bool,
    kind: str | None = None,
    shown: str | None = None,
    error: str | None = None,
) -> Iterator[SourceUse | None]:
    """Yield the sources that the call opened, listed or tried to open, by its tool's reader.

    ``kind`` is the tool's name in the table of readers, if that is not its own name. A server's tool has no reader:
    what it returned is ``shown``, and ``error`` is the text that may name a status.
    """
    read = readers.get(use.tool if kind is None else kind)
    if read is not None:
        yield from read(use)
    elif is_server_tool:
        printed = extract_server_tool_text(use.answer, use.result) if shown is None else shown
        reason = use.result if error is None else error
        yield from list_server_tool_uses(use.tool, use.input, printed, failed=use.failed, error=reason)


def extract_server_tool_text(answer: object, text: str) -> str:
    """Return the output of a server's tool as text."""
    blocks = get_items(answer) or get_items(get_fields(answer).get("content"))
    texts = [get_string(get_fields(block).get("text")) for block in blocks]
    return get_string(answer) or "\n".join(filter(None, texts)) or text


def _parse_search_hits(shown: str) -> Iterator[tuple[object, object]]:
    """Yield the hits of a search in two shapes: JSON with URLs, or lines with title and URL."""
    value = parse_payload_json(shown)
    results = get_fields(value).get("results") if isinstance(value, dict) else value
    for hit in map(get_fields, get_items(results)):
        yield hit.get("url"), hit.get("title")
    if not get_items(results):
        for match in _HIT.finditer(shown):
            yield match["url"], match["title"]


# --- commands ---------------------------------------------------------------------------------------------------------


def list_shell_uses(
    command: str | None, answer: ToolOutput, folder: str | None, *, failed: bool, error: str
) -> Iterator[SourceUse]:
    """Yield the URLs that a shell command opened and the files that it showed; ``folder`` is its working folder.

    A file counts as read if the command's own text names it and its output was shown.
    """
    urls = list_command_url_uses(command, answer.text, failed=failed, error=error)
    shown = _list_shell_file_uses(command, answer, folder, failed=failed)
    yield from islice(filter(None, chain(urls, shown)), LISTED_MAX)


def list_command_url_uses(
    command: str | None, printed: str, *, failed: bool, error: str, stopped: bool = False
) -> Iterator[SourceUse]:
    """Yield the URLs that a shell command opened, by its text and its end; ``error`` may name a status."""
    if command is None or ("http" not in command.lower() and "gh" not in command):
        return
    for url, outcome in islice(find_command_urls(command), LISTED_MAX):
        if outcome is CommandOutcome.KNOWN and failed and not stopped:
            yield failed_source_use(url, parse_http_status(error))
        elif outcome is CommandOutcome.KNOWN and printed.strip() and not failed and not stopped:
            reading = Reading.VERBATIM if len(printed) < OUTPUT_CHARS_MAX else Reading.EXCERPT
            yield SourceUse(url, reading, text=get_captured_text(printed))
        else:
            yield SourceUse(url, Reading.ATTEMPTED)


def _list_shell_file_uses(
    command: str | None, answer: ToolOutput, folder: str | None, *, failed: bool
) -> Iterator[SourceUse | None]:
    for step in (parse_shell_commands(command) or ()) if command is not None and not answer.running else ():
        name = (step.words[0] or "").rpartition("/")[2] if step.words else ""
        if step.shown and (name in WHOLE or name in SOME):
            yield from (
                _make_shell_file_use(answer, step, name, _join_agent_folder(folder, file))
                for file in _list_shell_file_arguments(name, step.words[1:])
            )
        elif step.shown and name in SEARCHERS and not failed:
            words = [word for word in step.words[1:] if word and not word.startswith("-")]
            for use in list_grep_uses(answer.text, words[1] if len(words) == 2 else None):
                yield None if use is None else SourceUse(_join_agent_folder(folder, use.locator), use.reading)


def _make_shell_file_use(answer: ToolOutput, step: ShellCommand, name: str, path: str) -> SourceUse:
    if answer.failed:
        # With several commands it is unknown which one failed.
        return SourceUse(path, Reading.ATTEMPTED, failed=step.alone)
    whole = step.alone and name in WHOLE and len(step.words) == 2 and not answer.text.startswith(CUT)
    return (
        SourceUse(path, Reading.VERBATIM, text=get_captured_text(answer.text))
        if whole
        else SourceUse(path, Reading.EXCERPT)
    )


def _list_shell_file_arguments(name: str, words: Sequence[str | None]) -> list[str]:
    """Return the files that a command shows, by its words; none if a word expands, or nothing is shown."""
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


def _join_agent_folder(folder: str | None, name: str) -> str:
    return name if folder is None else posixpath.normpath(posixpath.join(folder, name))
