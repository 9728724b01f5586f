"""Which sources a call of Codex CLI opened: files that its commands show, addresses, web searches, tools of servers.

Codex has no tool that reads a file: it runs ``cat``, ``sed -n``, ``head``, ``rg``. A file counts as read where the
command's own text names it and its output was shown; what cannot be told is not guessed. Of a web search Codex tells
the query and at times the hits, of a page that it was opened, never what was in it.
"""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice

from custody.capture.agents.claude.sources import LISTED_MAX, LOCATOR_CHARS_MAX, reads
from custody.capture.agents.claude.tool_calls import Done
from custody.capture.agents.codex.tool_calls import BASH, Answer
from custody.capture.shell import Ran, commands
from custody.capture.typed_field import Fields, clean, fields, items, string, text
from custody.core.views import Reading, SourceRead

WHOLE = frozenset(("cat",))
SOME = frozenset("head tail nl sed less more".split())
VALUES = {"head": ("-n", "-c"), "tail": ("-n", "-c"), "nl": ("-w", "-s", "-v"), "sed": ("-e", "-f")}
"""Options that are followed by a value."""
SEARCHERS = frozenset("rg grep".split())
CUT = "Warning: truncated output"
"""How an output begins that Codex cut before the model saw it."""
OPENED = frozenset(("open_page", "find_in_page"))


def sources(done: Done, answer: Answer, folder: str | None) -> Iterator[SourceRead]:
    """The sources that a finished call opened, listed or tried to open; ``folder`` is where it was run."""
    told = replace(done, response={"stdout": answer.words}) if done.tool == BASH else done
    found = [*reads(told)]
    if done.tool == BASH and not answer.running:
        found += _shown(done, answer, folder)
    yield from (replace(read, id=f"{done.call}:{n}") for n, read in enumerate(found[:LISTED_MAX]))


def searched(done: Done, action: Fields, results: object) -> Iterator[SourceRead]:
    """What a web search listed, and the page that it opened: what that brought, nobody tells."""
    hits = [(string(fields(hit).get("url")), string(fields(hit).get("title"))) for hit in items(results)]
    listed = [(url, title, Reading.LISTED) for url, title in hits if url]
    url = string(action.get("url")) if string(action.get("type")) in OPENED else None
    opened = [(url, None, Reading.ATTEMPTED)] if url else []
    for n, (locator, title, reading) in enumerate(islice([*opened, *listed], LISTED_MAX)):
        yield replace(_source(done, n, locator, reading), title=None if title is None else clean(title))


def _shown(done: Done, answer: Answer, folder: str | None) -> Iterator[SourceRead]:
    command = string(done.input.get("command"))
    for step in (commands(command) or ()) if command is not None else ():
        name = (step.words[0] or "").rpartition("/")[2] if step.words else ""
        if not step.shown:
            continue
        if name in WHOLE or name in SOME:
            for file in _files(name, step.words[1:]):
                yield _file(done, answer, step, name, _whole(folder, file))
        elif name in SEARCHERS and not done.failed:
            yield from _passages(done, answer, step, folder)


def _file(done: Done, answer: Answer, step: Ran, name: str, path: str) -> SourceRead:
    read = _source(done, 0, path, Reading.EXCERPT)
    if answer.failed:
        # Of several commands nobody knows which one it was that failed.
        return replace(read, reading=Reading.ATTEMPTED, failed=step.alone)
    whole = step.alone and name in WHOLE and len(step.words) == 2 and not answer.words.startswith(CUT)
    return replace(read, reading=Reading.VERBATIM, text=text(answer.words)) if whole else read


def _files(name: str, words: Sequence[str | None]) -> list[str]:
    """The files that a command shows, by its words; none where one of them is left to expand, or nothing is shown."""
    if any(word is None for word in words) or (
        name == "sed" and any((w or "").startswith(("-i", "--in")) for w in words)
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


def _passages(done: Done, answer: Answer, step: Ran, folder: str | None) -> Iterator[SourceRead]:
    """The files of which a search showed passages."""
    named = [word for word in step.words[1:] if word and not word.startswith("-")]
    given = {"path": named[1]} if len(named) == 2 else {}
    found = reads(replace(done, tool="Grep", input=given, response={"content": answer.words}))
    yield from (replace(read, locator=_whole(folder, read.locator)) for read in found)


def _whole(folder: str | None, name: str) -> str:
    return name if folder is None else posixpath.normpath(posixpath.join(folder, name))


def _source(done: Done, n: int, locator: str, reading: Reading) -> SourceRead:
    return SourceRead(
        agent=done.agent,
        session=done.session,
        id=f"{done.call}:{n}",
        locator=clean(locator)[:LOCATOR_CHARS_MAX],
        reading=reading,
        at_ns=done.at_ns,
        call=done.call,
    )
