"""What a report names of a repository: files, names in files, issues, packages.

Only what is written so that it can mean nothing else: a path stands in backticks or is where a link leads. What is an
example, is planned, was removed or is made by a program is passed over, by the words around it.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple
from urllib.parse import unquote

from custody.cite.subject import AuditSubject
from custody.cite.walk import CODE, HEADING, HTML, NOTE, PARAGRAPH, ROW

AROUND_BYTES = 240
"""So much of its sentence before and after a mention says whether it is meant as it stands."""

_SPAN = re.compile(rb"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)")
_ANNOUNCES = re.compile(rb"[`* )]*[:\xef\xbc\x9a][`* ]*(?:\r?\n|$)")
"""A colon at the end of a line: what follows is what somebody shall put there."""
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)[.!?]\s|[。！？]|\n\s*\n|\n\s*[-*+|#]")
_PATH = re.compile(r"(?:\./|(?:\.\./)+)?[\w.+-]+(?:/[\w.+-]+)*")
_PLACE = re.compile(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)$")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){2,}(?:\(\))?", re.ASCII)
_NODE = re.compile(r"([\w./+-]+\.\w+)((?:::[A-Za-z_]\w*)+)(?:\[[^\]]*\])?", re.ASCII)
_NAME_IN_FILE = re.compile(r"`([A-Za-z_]\w*)\(\)` (?:in|from|of) `([\w./+-]+\.\w+)(?::\d+(?:-\d+)?)?`", re.ASCII)
_ISSUE = re.compile(rb"(?<![\w/&#\[(`-])#([1-9]\d{0,6})\b(?![\w-])")
_PACKAGE = re.compile(
    r"`([@\w][\w./@-]*)` is (?:an?|the|our|its) (?:[\w-]+ ){0,2}dependency\b"
    r"|\bdepends? on (?:the )?`([@\w][\w./@-]*)` (?:package|library|crate|gem)\b"
    r"|\b(?:runtime|direct|third-party|external|core|main|only) dependency(?: is|,|:)? `([@\w][\w./@-]*)`"
)
_NOT_NOW_BEGINNINGS = """
    e.g eg example such like instance imagine suppose hypothetical placeholder template sample foo bar
    creat add new will would should could might may plan propos todo suggest recommend consider introduc
    generat produc emit output sav write writes writing built build compil
    renam move moving delet remov drop replac split extract
    longer missing absent optional if unless when instead previous former was were used old legacy deprecat
    gitignor ignor untracked local your my someone never without not no don't doesn't isn't lack
    upstream fork download clone install
""".split()
"""How words begin that say: not there, not here, not yet, not any more, or only for example."""
_NOT_NOW = re.compile(
    rf"\b(?:{'|'.join(map(re.escape, _NOT_NOW_BEGINNINGS))})\w{{0,6}}\b"
    "|新增|创建|新建|删除|移除|例如|比如|如果|生成|计划|建议",
    re.IGNORECASE,
)
_MADE_UP = re.compile(
    r"(?:^|[/._-])(?:foo|bar|baz|qux|example|examples?_\w+|sample|your|my|path|to|xxx+|yyy+|name|file|filename|some|dir|folder"
    r"|module|new|old|tmp|temp|x|y|a|b|c|[NX]{2,}|\d+[NX]+)(?=[/._-]|$)",
    re.IGNORECASE,
)


class FileMention(NamedTuple):
    """A file that is named: where, as which path, and whether as a link (then from the report's own folder)."""

    at: int
    path: str
    link: bool = False


class NameMention(NamedTuple):
    """A name that is said to be in a module (dotted) or in a file (a path)."""

    at: int
    names: tuple[str, ...]
    path: str | None = None


class IssueMention(NamedTuple):
    """An issue or a pull request by its number."""

    at: int
    number: int


class PackageMention(NamedTuple):
    """A package that is said to be a dependency."""

    at: int
    name: str


def files_named(subject: AuditSubject) -> Iterator[FileMention]:
    """The files that a report names, as they are written, without the line."""
    for at, end, span in _spans(subject):
        found = _NODE.fullmatch(span)
        written = found[1] if found else span
        bare = _PLACE.sub("", written)
        with_place = bare != written or found is not None
        if (
            not _PATH.fullmatch(bare)
            or ("/" not in bare.removeprefix("./") and not with_place)
            or _MADE_UP.search(bare)
        ):
            continue
        if "..." not in bare and not _is_doubtful(subject, at, end):
            yield FileMention(at, bare)
    for link in subject.layout.links:
        path = unquote(re.split("[?#]", link.url, maxsplit=1)[0])
        if path and ":" not in path and not path.startswith("/") and re.fullmatch(r"[\w./+ -]+", path):
            yield FileMention(link.start, path, link=True)


def names_named(subject: AuditSubject) -> Iterator[NameMention]:
    """The names that a report says are in a module or a file."""
    for at, end, span in _spans(subject):
        node = _NODE.fullmatch(span)
        if _is_doubtful(subject, at, end):
            continue
        if node is not None:
            yield NameMention(at, tuple(node[2].split("::")[1:]), node[1])
        elif _DOTTED.fullmatch(span):
            yield NameMention(at, tuple(span.removesuffix("()").split(".")))
    for start, text in _texts(subject):
        for match in _NAME_IN_FILE.finditer(text):
            at, end = (start + len(text[:sign].encode("utf-8", "surrogateescape")) for sign in match.span())
            if not _is_doubtful(subject, at, end):
                yield NameMention(at, (match[1],), match[2])


def issues_named(subject: AuditSubject) -> Iterator[IssueMention]:
    """The issues of the repository itself that a report names by number alone."""
    for match in _ISSUE.finditer(subject.layout.data):
        if not subject.layout.is_guarded(match.start()):
            yield IssueMention(match.start(), int(match[1]))


def packages_named(subject: AuditSubject) -> Iterator[PackageMention]:
    """The packages that a report says are dependencies."""
    for start, text in _texts(subject):
        for match in _PACKAGE.finditer(text):
            name = next(group for group in match.groups() if group is not None)
            at, end = (start + len(text[:sign].encode("utf-8", "surrogateescape")) for sign in match.span())
            if not _is_doubtful(subject, at, end):
                yield PackageMention(at, name)


def _texts(subject: AuditSubject) -> Iterator[tuple[int, str]]:
    """Every block that holds text, with where it begins."""
    for block in subject.layout.blocks:
        if block.kind in (PARAGRAPH, HEADING, ROW) and not block.inside & (CODE | HTML | NOTE):
            yield block.start, subject.layout.text(block.start, block.end)


def _spans(subject: AuditSubject) -> Iterator[tuple[int, int, str]]:
    """The inline code of a report: where it begins and ends, and what stands in it."""
    data = subject.layout.data
    for block in subject.layout.blocks if b"`" in data else ():
        if block.kind not in (PARAGRAPH, HEADING, ROW) or block.inside & (CODE | HTML | NOTE):
            continue
        for match in _SPAN.finditer(data, block.start, block.end):
            if subject.layout.is_guarded(match.start()):
                yield match.start(), match.end(), match[2].decode("utf-8", "surrogateescape").strip()


def _is_doubtful(subject: AuditSubject, start: int, end: int) -> bool:
    """Whether what stands around a mention says that it is an example, or not there (any more, or yet)."""
    data = subject.layout.data
    if _ANNOUNCES.match(data, end):
        return True
    before = _SENTENCE_END.split(data[max(0, start - AROUND_BYTES) : start].decode("utf-8", "ignore"))[-1]
    after = _SENTENCE_END.split(data[end : end + AROUND_BYTES].decode("utf-8", "ignore"), maxsplit=1)[0]
    return _NOT_NOW.search(before) is not None or _NOT_NOW.search(after) is not None
