"""What a report names of a repository and that is not there: files, names in files, issues, dependencies.

Pure: what the repository holds is handed in. Whatever may be meant otherwise is taken to be there.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote

from custody.cite.codes import CitationCode
from custody.cite.subject import AuditSubject, CheckFinding, brief
from custody.cite.walk import CODE, HEADING, HTML, NOTE, PARAGRAPH, ROW

# What a report names of a repository: files, names in files, issues, packages.
# Only what is written so that it can mean nothing else: a path stands in backticks or is where a link leads. What is
# an example, is planned, was removed or is made by a program is passed over, by the words around it.


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


MODULE_PARTS_MIN = 2
"""A shorter dotted name may be a variable's."""
ELSEWHERE_MIN = 4
"""From so many missing files on, and if they are more than those that are there, a report speaks of another place."""
_OTHER_TIMES = re.compile(
    r"(?:^|/)[^/]*(?:change|history|news|release|migrat|upgrad|timeline|plan|roadmap|proposal|todo|backlog)[^/]*$",
    re.IGNORECASE,
)
_OPEN_MODULE = re.compile(r"import \*|__getattr__|globals\(\)|setattr\(")
_MADE = frozenset("node_modules dist build target out bin obj vendor coverage generated venv env logs log tmp".split())


@dataclass(frozen=True)
class RepositoryContent:
    """What a repository holds: the paths of its files, texts of files, which paths ever were, what manifests say."""

    paths: Collection[str]
    text_of: Callable[[str], str | None]
    ever: Callable[[Collection[str]], Collection[str]]
    """Those of some paths that are on disk or were in some commit."""
    manifests: Collection[str] = ()
    """The texts of manifests and lock files."""
    builtin: Collection[str] = ()
    """What needs no manifest, because languages bring it along."""

    @cached_property
    def extensions(self) -> frozenset[str]:
        """The endings that names of files have here, in small letters."""
        return frozenset(_extension(path) for path in self.paths) - {""}

    @cached_property
    def folders(self) -> frozenset[str]:
        """The folders at the top."""
        return frozenset(path.partition("/")[0] for path in self.paths if "/" in path)

    @cached_property
    def ends(self) -> Mapping[str, list[str]]:
        """Paths by their last name, in small letters, without its ending."""
        found: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            found.setdefault(_stem(path), []).append(path)
        return found

    def like(self, path: str) -> list[str]:
        """The files whose path ends so, whatever their ending and capitals: what somebody may mean by ``path``."""
        wanted = _without_ending(path.lower())
        ends = (_without_ending(end.lower()) for end in self.ends.get(_stem(path), ()))
        known = self.ends.get(_stem(path), ())
        return [
            known_path
            for known_path, end in zip(known, ends, strict=True)
            if end == wanted or end.endswith(f"/{wanted}")
        ]


@dataclass(frozen=True, slots=True)
class Tracker:
    """What records know of an issue tracker: numbers that were asked for in vain, and when numbers were given."""

    absent: Collection[int] = ()
    given: Collection[tuple[int, int]] = ()
    """Numbers of pull requests with the moment at which each was opened."""


LineTimes = Mapping[int, int | None]
"""The lines that are judged, and when each was written where that is known."""


class Files(NamedTuple):
    """The files that are not there; ``elsewhere``: so many are not that the report must speak of another place."""

    found: list[CheckFinding]
    elsewhere: bool


def no_file(subject: AuditSubject, judged: LineTimes, holding: RepositoryContent, report: str) -> Files:
    """Files that a report names and that neither are nor ever were; ``report`` is its own path."""
    folder = report.rpartition("/")[0]
    asked: list[tuple[FileMention, list[str]]] = []
    there = 0
    for mention in () if speaks_of_another_time(report) else files_named(subject):
        places = list(_places(mention, folder, holding))
        there += not places and bool(holding.like(_end(mention.path)))
        if places and subject.line(mention.at) in judged:
            asked.append((mention, places))
    ever = set(holding.ever({place for _, places in asked for place in places})) if asked else set()
    missing = [mention for mention, places in asked if not ever.intersection(places)]
    paths = {mention.path for mention in missing}
    if len(paths) >= ELSEWHERE_MIN and len(paths) > there:
        return Files([], elsewhere=True)
    messages = (f"there is no file '{brief(mention.path)}'{_instead(mention.path, holding)}" for mention in missing)
    return Files(
        [
            CheckFinding(CitationCode.NOFILE, mention.at, words)
            for mention, words in zip(missing, messages, strict=True)
        ],
        elsewhere=False,
    )


def speaks_of_another_time(report: str) -> bool:
    """Whether a report is a plan or a history of changes by its name: it tells of what is not there now."""
    return _OTHER_TIMES.search(report) is not None


def no_symbol(
    subject: AuditSubject, judged: LineTimes, holding: RepositoryContent, report: str
) -> Iterator[CheckFinding]:
    """Names that a report says are in a module or a file, and that do not stand there."""
    for mention in () if speaks_of_another_time(report) else names_named(subject):
        if subject.line(mention.at) not in judged:
            continue
        for path, name in absent_names(mention, holding):
            yield CheckFinding(CitationCode.NOSYMBOL, mention.at, f"'{brief(name)}' does not stand in {path}")


def no_issue(subject: AuditSubject, judged: LineTimes, tracker: Tracker) -> Iterator[CheckFinding]:
    """Issues that were asked for in vain, or whose number was given to none when the line was written."""
    for mention in issues_named(subject):
        line = subject.line(mention.at)
        if line not in judged:
            continue
        moment = judged[line]
        later = [n for n, at in tracker.given if moment is not None and at >= moment and n < mention.number]
        if mention.number in tracker.absent:
            yield CheckFinding(
                CitationCode.NOISSUE, mention.at, f"there is no #{mention.number}: it was asked for in vain"
            )
        elif later:
            yield CheckFinding(
                CitationCode.NOISSUE,
                mention.at,
                f"there was no #{mention.number} yet: #{max(later)} was opened after this",
            )


def no_package(subject: AuditSubject, judged: LineTimes, holding: RepositoryContent) -> Iterator[CheckFinding]:
    """Packages that a report says are dependencies and that no manifest names."""
    if not holding.manifests:
        return
    said = [_package(text) for text in holding.manifests]
    own = {_package(_without_ending(part)) for path in holding.paths for part in path.split("/")[:3]}
    own.update(map(_package, holding.builtin))
    for mention in packages_named(subject):
        name = _package(mention.name)
        known = any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for text in said)
        if subject.line(mention.at) in judged and not known and name not in own:
            yield CheckFinding(
                CitationCode.NOPACKAGE, mention.at, f"no manifest or lock file names '{brief(mention.name)}'"
            )


def _places(mention: FileMention, folder: str, holding: RepositoryContent) -> Iterator[str]:
    """Where a file would be, if it may be missing at all; nothing where something may be meant by it."""
    parts = mention.path.removeprefix("./").split("/")
    if _extension(mention.path) not in holding.extensions or _MADE.intersection(part.lower() for part in parts):
        return
    if not mention.link and parts[0].startswith(".") and parts[0] not in (".", ".."):
        return  # settings of a tool: whoever reads about them has them elsewhere
    here = _joined(folder, mention.path)
    root = _joined("", mention.path)
    first = None if here is None else here[len(folder) :].lstrip("/").partition("/")[0]
    beside = f"{folder}/{first}/" if folder else f"{first}/"
    known_folder = parts[0] in holding.folders or (len(parts) > 1 and any(p.startswith(beside) for p in holding.paths))
    if not mention.link and len(parts) > 1 and not known_folder and parts[0] not in (".", ".."):
        return
    end = _end(mention.path)
    if not end or holding.like(end) or (here is not None and _is_folder(here, holding)):
        return
    yield from (place for place in (here, root) if place is not None)


def absent_names(mention: NameMention, holding: RepositoryContent) -> Iterator[tuple[str, str]]:
    """The file and the name that are missing from it: nothing where one of the files meant has it."""
    if mention.path is not None:
        files = [path for path in holding.like(mention.path) if path.endswith(f".{_extension(mention.path)}")]
        for name in mention.names:
            if files and not any(_may_have(holding.text_of(path), name) for path in files):
                yield files[0], name
                return
        return
    for count in range(len(mention.names) - 1, MODULE_PARTS_MIN - 1, -1):
        module, name = "/".join(mention.names[:count]), mention.names[count]
        files = [
            path
            for end in (f"{module}.py", f"{module}/__init__.py")
            for path in holding.ends.get(_stem(end), ())
            if path == end or path.endswith(f"/{end}")
        ]
        if not files:
            continue
        below = any(path.startswith(f"{file.rpartition('/')[0]}/{name}") for file in files for path in holding.paths)
        if not below and not any(_may_have(holding.text_of(path), name) for path in files):
            yield files[0], name
        return


def _may_have(text: str | None, name: str) -> bool:
    """Whether a file may define a name; one that cannot be read, or that defines names by program, may."""
    return (
        text is None or _OPEN_MODULE.search(text) is not None or re.search(rf"\b{re.escape(name)}\b", text) is not None
    )


def _instead(path: str, holding: RepositoryContent) -> str:
    """Another file of the same name, if there is one alone."""
    known = [
        known_path
        for known_path in holding.ends.get(_stem(path), ())
        if known_path.rpartition("/")[2] == path.rpartition("/")[2]
    ]
    return f"; there is {known[0]}" if len(known) == 1 else ""


def _end(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in (".", ".."))


def _joined(folder: str, path: str) -> str | None:
    """``path`` from ``folder``; None where it leaves the repository.

    >>> _joined("docs/a", "../b.md"), _joined("docs", "../../b.md")
    ('docs/b.md', None)
    """
    made = folder.split("/") if folder else []
    for part in path.split("/"):
        if part == "..":
            if not made:
                return None
            made.pop()
        elif part not in ("", "."):
            made.append(part)
    return "/".join(made) or None


def _is_folder(path: str, holding: RepositoryContent) -> bool:
    return any(known_path.startswith(f"{path}/") for known_path in holding.paths)


def _extension(path: str) -> str:
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return ending.lower() if dot and stem else ""


def _without_ending(path: str) -> str:
    return path.removesuffix(f".{_extension(path)}") if _extension(path) else path


def _stem(path: str) -> str:
    return _without_ending(path.rpartition("/")[2].lower())


def _package(name: str) -> str:
    """A package's name, or a manifest, as names are compared: capitals, ``_`` and ``.`` aside."""
    return re.sub(r"[_.]", "-", name.lower())
