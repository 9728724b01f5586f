"""Names in a report that the repository does not have: files, names in files, issues, dependencies.

Pure: the content of the repository is passed in. In doubt, a name counts as present.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple
from urllib.parse import unquote

from msgspec import Struct

from custody.cite.codes import CitationCode
from custody.cite.subject import AuditSubject, CheckFinding, shorten_citation_text
from custody.cite.walk import CODE, HEADING, HTML, NOTE, PARAGRAPH, ROW
from custody.core.patterns import lazy_pattern

# Find mentions of files, names in files, issues and packages. Only unambiguous forms count: a path must be in backticks
# or the target of a link. Examples, plans, removed and generated files are skipped, by the words around them.


AROUND_BYTES = 240
"""Characters before and after a mention that decide whether it is meant literally."""

_SPAN = lazy_pattern(rb"(?<!`)(`{1,2})(?!`)(.+?)(?<!`)\1(?!`)")
_ANNOUNCES = lazy_pattern(rb"[`* )]*[:\xef\xbc\x9a][`* ]*(?:\r?\n|$)")
"""A colon at the end of a line: what follows is content to be put there."""
_SENTENCE_END = lazy_pattern(r"(?<!e\.g)(?<!i\.e)[.!?]\s|[。！？]|\n\s*\n|\n\s*[-*+|#]")
_PATH = lazy_pattern(r"(?:\./|(?:\.\./)+)?[\w.+-]+(?:/[\w.+-]+)*")
_PLACE = lazy_pattern(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)$")
_DOTTED = lazy_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){2,}(?:\(\))?", re.ASCII)
_NODE = lazy_pattern(r"([\w./+-]+\.\w+)((?:::[A-Za-z_]\w*)+)(?:\[[^\]]*\])?", re.ASCII)
_NAME_IN_FILE = lazy_pattern(r"`([A-Za-z_]\w*)\(\)` (?:in|from|of) `([\w./+-]+\.\w+)(?::\d+(?:-\d+)?)?`", re.ASCII)
_ISSUE = lazy_pattern(rb"(?<![\w/&#\[(`-])#([1-9]\d{0,6})\b(?![\w-])")
_PACKAGE = lazy_pattern(
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
"""Beginnings of words that mean: absent, elsewhere, not yet, no longer, or an example."""
_NOT_NOW = lazy_pattern(
    rf"\b(?:{'|'.join(map(re.escape, _NOT_NOW_BEGINNINGS))})\w{{0,6}}\b"
    "|新增|创建|新建|删除|移除|例如|比如|如果|生成|计划|建议",
    re.IGNORECASE,
)
_MADE_UP = lazy_pattern(
    r"(?:^|[/._-])(?:foo|bar|baz|qux|example|examples?_\w+|sample|your|my|path|to|xxx+|yyy+|name|file|filename|some|dir|folder"
    r"|module|new|old|tmp|temp|x|y|a|b|c|[NX]{2,}|\d+[NX]+)(?=[/._-]|$)",
    re.IGNORECASE,
)


class FileMention(NamedTuple):
    """A named file: its position, its path, and whether it is a link (relative to the report's folder)."""

    at: int
    path: str
    link: bool = False


class NameMention(NamedTuple):
    """A name in a module (dotted) or in a file (a path)."""

    at: int
    names: tuple[str, ...]
    path: str | None = None


class IssueMention(NamedTuple):
    """An issue or a pull request, by number."""

    at: int
    number: int


class PackageMention(NamedTuple):
    """A package that the text calls a dependency."""

    at: int
    name: str


def find_file_mentions(subject: AuditSubject) -> Iterator[FileMention]:
    """Yield the files that a report names, as written, without line numbers."""
    for at, end, span in _inline_code_spans(subject):
        match = _NODE.fullmatch(span)
        written = match[1] if match else span
        bare = _PLACE.sub("", written)
        with_place = bare != written or match is not None
        if (
            not _PATH.fullmatch(bare)
            or ("/" not in bare.removeprefix("./") and not with_place)
            or _MADE_UP.search(bare)
        ):
            continue
        if "..." not in bare and not _is_doubtful_mention(subject, at, end):
            yield FileMention(at, bare)
    for link in subject.layout.links:
        path = unquote(re.split("[?#]", link.url, maxsplit=1)[0])
        if path and ":" not in path and not path.startswith("/") and re.fullmatch(r"[\w./+ -]+", path):
            yield FileMention(link.start, path, link=True)


def find_name_mentions(subject: AuditSubject) -> Iterator[NameMention]:
    """Yield the names that a report places in a module or a file."""
    for at, end, span in _inline_code_spans(subject):
        node = _NODE.fullmatch(span)
        if _is_doubtful_mention(subject, at, end):
            continue
        if node is not None:
            yield NameMention(at, tuple(node[2].split("::")[1:]), node[1])
        elif _DOTTED.fullmatch(span):
            yield NameMention(at, tuple(span.removesuffix("()").split(".")))
    for start, text in _report_text_blocks(subject):
        for match in _NAME_IN_FILE.finditer(text):
            at, end = (start + len(text[:offset].encode("utf-8", "surrogateescape")) for offset in match.span())
            if not _is_doubtful_mention(subject, at, end):
                yield NameMention(at, (match[1],), match[2])


def find_issue_mentions(subject: AuditSubject) -> Iterator[IssueMention]:
    """Yield the issues of this repository that a report names by number alone."""
    for match in _ISSUE.finditer(subject.layout.data):
        if not subject.layout.is_guarded(match.start()):
            yield IssueMention(match.start(), int(match[1]))


def find_package_mentions(subject: AuditSubject) -> Iterator[PackageMention]:
    """Yield the packages that a report calls dependencies."""
    for start, text in _report_text_blocks(subject):
        for match in _PACKAGE.finditer(text):
            name = next(group for group in match.groups() if group is not None)
            at, end = (start + len(text[:offset].encode("utf-8", "surrogateescape")) for offset in match.span())
            if not _is_doubtful_mention(subject, at, end):
                yield PackageMention(at, name)


def _report_text_blocks(subject: AuditSubject) -> Iterator[tuple[int, str]]:
    """Yield the blocks with text, with their offsets."""
    for block in subject.layout.blocks:
        if block.kind in (PARAGRAPH, HEADING, ROW) and not block.inside & (CODE | HTML | NOTE):
            yield block.start, subject.layout.text(block.start, block.end)


def _inline_code_spans(subject: AuditSubject) -> Iterator[tuple[int, int, str]]:
    """Yield the inline code of a report: its byte range and its text."""
    data = subject.layout.data
    for block in subject.layout.blocks if b"`" in data else ():
        if block.kind not in (PARAGRAPH, HEADING, ROW) or block.inside & (CODE | HTML | NOTE):
            continue
        for match in _SPAN.finditer(data, block.start, block.end):
            if subject.layout.is_guarded(match.start()):
                yield match.start(), match.end(), match[2].decode("utf-8", "surrogateescape").strip()


def _is_doubtful_mention(subject: AuditSubject, start: int, end: int) -> bool:
    """Return whether the words around a mention mark it as an example or as absent."""
    data = subject.layout.data
    if _ANNOUNCES.match(data, end):
        return True
    before = _SENTENCE_END.split(data[max(0, start - AROUND_BYTES) : start].decode("utf-8", "ignore"))[-1]
    after = _SENTENCE_END.split(data[end : end + AROUND_BYTES].decode("utf-8", "ignore"), maxsplit=1)[0]
    return _NOT_NOW.search(before) is not None or _NOT_NOW.search(after) is not None


MODULE_PARTS_MIN = 2
"""Minimum parts of a dotted name; a shorter one may be a variable."""
ELSEWHERE_MIN = 4
"""Minimum missing files, if more than the present ones, for a report about another repository."""
_OTHER_TIMES = lazy_pattern(
    r"(?:^|/)[^/]*(?:change|history|news|release|migrat|upgrad|timeline|plan|roadmap|proposal|todo|backlog)[^/]*$",
    re.IGNORECASE,
)
_OPEN_MODULE = lazy_pattern(r"import \*|__getattr__|globals\(\)|setattr\(")
_MADE = frozenset("node_modules dist build target out bin obj vendor coverage generated venv env logs log tmp".split())


class RepositoryContent(Struct, frozen=True, dict=True):
    """The content of a repository: its paths, texts, former paths, and manifests."""

    paths: Collection[str]
    text_of: Callable[[str], str | None]
    ever: Callable[[Collection[str]], Collection[str]]
    """Returns those of some paths that are on disk or were in a commit."""
    manifests: Collection[str] = ()
    """The texts of manifests and lock files."""
    builtin: Collection[str] = ()
    """Modules that need no manifest, because they are part of a language."""

    @cached_property
    def extensions(self) -> frozenset[str]:
        """Return the file extensions in this repository, in lower case."""
        return frozenset(_cited_file_extension(path) for path in self.paths) - {""}

    @cached_property
    def folders(self) -> frozenset[str]:
        """Return the top-level folders."""
        return frozenset(path.partition("/")[0] for path in self.paths if "/" in path)

    @cached_property
    def ends(self) -> Mapping[str, list[str]]:
        """Return paths by stem, in lower case."""
        by_stem: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            by_stem.setdefault(_cited_file_stem(path), []).append(path)
        return by_stem

    def matching_paths(self, path: str) -> list[str]:
        """Return the files that ``path`` may mean: the same end of the path, whatever extension and case."""
        suffix = _strip_cited_file_extension(path.lower())
        ends = (_strip_cited_file_extension(end.lower()) for end in self.ends.get(_cited_file_stem(path), ()))
        known = self.ends.get(_cited_file_stem(path), ())
        return [
            known_path
            for known_path, end in zip(known, ends, strict=True)
            if end == suffix or end.endswith(f"/{suffix}")
        ]


class Tracker(Struct, frozen=True):
    """What records show about an issue tracker: numbers that do not exist, and when numbers were assigned."""

    absent: Collection[int] = ()
    given: Collection[tuple[int, int]] = ()
    """Numbers of pull requests with the time each was opened."""


LineTimes = Mapping[int, int | None]
"""The lines to check, with the time each was written, if known."""


class Files(NamedTuple):
    """The missing files; ``elsewhere`` means that too many are missing, so the report is about another repository."""

    found: list[CheckFinding]
    elsewhere: bool


def find_missing_files(subject: AuditSubject, judged: LineTimes, holding: RepositoryContent, report: str) -> Files:
    """Return the files that a report names and that never existed; ``report`` is its own path."""
    folder = report.rpartition("/")[0]
    candidates: list[tuple[FileMention, list[str]]] = []
    present = 0
    for mention in () if is_plan_or_history_report(report) else find_file_mentions(subject):
        places = list(_mentioned_file_paths(mention, folder, holding))
        present += not places and bool(holding.matching_paths(_trim_cited_path(mention.path)))
        if places and subject.line(mention.at) in judged:
            candidates.append((mention, places))
    ever = set(holding.ever({place for _, places in candidates for place in places})) if candidates else set()
    missing = [mention for mention, places in candidates if not ever.intersection(places)]
    paths = {mention.path for mention in missing}
    if len(paths) >= ELSEWHERE_MIN and len(paths) > present:
        return Files([], elsewhere=True)
    messages = (
        f"no file '{shorten_citation_text(mention.path)}'{_suggest_cited_file(mention.path, holding)}"
        for mention in missing
    )
    return Files(
        [
            CheckFinding(CitationCode.NOFILE, mention.at, message)
            for mention, message in zip(missing, messages, strict=True)
        ],
        elsewhere=False,
    )


def is_plan_or_history_report(report: str) -> bool:
    """Return whether a report is a plan or a changelog by its name, so that it describes other versions."""
    return _OTHER_TIMES.search(report) is not None


def find_missing_symbols(
    subject: AuditSubject, judged: LineTimes, holding: RepositoryContent, report: str
) -> Iterator[CheckFinding]:
    """Yield the names that a report places in a module or file that does not contain them."""
    for mention in () if is_plan_or_history_report(report) else find_name_mentions(subject):
        if subject.line(mention.at) not in judged:
            continue
        for path, name in find_missing_mentioned_names(mention, holding):
            yield CheckFinding(CitationCode.NOSYMBOL, mention.at, f"'{shorten_citation_text(name)}' is not in {path}")


def find_missing_issues(subject: AuditSubject, judged: LineTimes, tracker: Tracker) -> Iterator[CheckFinding]:
    """Yield the issues that do not exist, or whose number was not assigned when the line was written."""
    for mention in find_issue_mentions(subject):
        line = subject.line(mention.at)
        if line not in judged:
            continue
        written_ns = judged[line]
        later = [n for n, at in tracker.given if written_ns is not None and at >= written_ns and n < mention.number]
        if mention.number in tracker.absent:
            yield CheckFinding(
                CitationCode.NOISSUE, mention.at, f"#{mention.number} does not exist: a request for it failed"
            )
        elif later:
            yield CheckFinding(
                CitationCode.NOISSUE,
                mention.at,
                f"#{mention.number} did not exist yet: #{max(later)} was opened later",
            )


def find_missing_packages(
    subject: AuditSubject, judged: LineTimes, holding: RepositoryContent
) -> Iterator[CheckFinding]:
    """Yield the packages that a report calls dependencies and that no manifest names."""
    if not holding.manifests:
        return
    manifests = [_normalize_cited_package(text) for text in holding.manifests]
    own = {
        _normalize_cited_package(_strip_cited_file_extension(part))
        for path in holding.paths
        for part in path.split("/")[:3]
    }
    own.update(map(_normalize_cited_package, holding.builtin))
    for mention in find_package_mentions(subject):
        name = _normalize_cited_package(mention.name)
        known = any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for text in manifests)
        if subject.line(mention.at) in judged and not known and name not in own:
            yield CheckFinding(
                CitationCode.NOPACKAGE,
                mention.at,
                f"no manifest or lock file names '{shorten_citation_text(mention.name)}'",
            )


def _mentioned_file_paths(mention: FileMention, folder: str, holding: RepositoryContent) -> Iterator[str]:
    """Yield the paths where a file would be; nothing if the mention may mean a present file or folder."""
    parts = mention.path.removeprefix("./").split("/")
    if _cited_file_extension(mention.path) not in holding.extensions or _MADE.intersection(
        part.lower() for part in parts
    ):
        return
    if not mention.link and parts[0].startswith(".") and parts[0] not in (".", ".."):
        return  # configuration of a tool, which readers have elsewhere
    local = _resolve_cited_path(folder, mention.path)
    root = _resolve_cited_path("", mention.path)
    first = None if local is None else local[len(folder) :].lstrip("/").partition("/")[0]
    beside = f"{folder}/{first}/" if folder else f"{first}/"
    known_folder = parts[0] in holding.folders or (len(parts) > 1 and any(p.startswith(beside) for p in holding.paths))
    if not mention.link and len(parts) > 1 and not known_folder and parts[0] not in (".", ".."):
        return
    end = _trim_cited_path(mention.path)
    if not end or holding.matching_paths(end) or (local is not None and _is_cited_folder(local, holding)):
        return
    yield from (place for place in (local, root) if place is not None)


def find_missing_mentioned_names(mention: NameMention, holding: RepositoryContent) -> Iterator[tuple[str, str]]:
    """Yield the file and the name missing from it; nothing if one of the possible files has it."""
    if mention.path is not None:
        files = [
            path
            for path in holding.matching_paths(mention.path)
            if path.endswith(f".{_cited_file_extension(mention.path)}")
        ]
        for name in mention.names:
            if files and not any(_can_define_cited_name(holding.text_of(path), name) for path in files):
                yield files[0], name
                return
        return
    for count in range(len(mention.names) - 1, MODULE_PARTS_MIN - 1, -1):
        module, name = "/".join(mention.names[:count]), mention.names[count]
        files = [
            path
            for end in (f"{module}.py", f"{module}/__init__.py")
            for path in holding.ends.get(_cited_file_stem(end), ())
            if path == end or path.endswith(f"/{end}")
        ]
        if not files:
            continue
        below = any(path.startswith(f"{file.rpartition('/')[0]}/{name}") for file in files for path in holding.paths)
        if not below and not any(_can_define_cited_name(holding.text_of(path), name) for path in files):
            yield files[0], name
        return


def _can_define_cited_name(text: str | None, name: str) -> bool:
    """Return whether a file may define a name; a file that is unreadable or defines names dynamically may."""
    return (
        text is None or _OPEN_MODULE.search(text) is not None or re.search(rf"\b{re.escape(name)}\b", text) is not None
    )


def _suggest_cited_file(path: str, holding: RepositoryContent) -> str:
    """Return a hint at the only other file with the same name."""
    known = [
        known_path
        for known_path in holding.ends.get(_cited_file_stem(path), ())
        if known_path.rpartition("/")[2] == path.rpartition("/")[2]
    ]
    return f" (did you mean {known[0]}?)" if len(known) == 1 else ""


def _trim_cited_path(path: str) -> str:
    return "/".join(part for part in path.split("/") if part not in (".", ".."))


def _resolve_cited_path(folder: str, path: str) -> str | None:
    """Return ``path`` relative to ``folder``; None if it leaves the repository.

    >>> _resolve_cited_path("docs/a", "../b.md"), _resolve_cited_path("docs", "../../b.md")
    ('docs/b.md', None)
    """
    parts = folder.split("/") if folder else []
    for part in path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or None


def _is_cited_folder(path: str, holding: RepositoryContent) -> bool:
    return any(known_path.startswith(f"{path}/") for known_path in holding.paths)


def _cited_file_extension(path: str) -> str:
    stem, dot, ending = path.rpartition("/")[2].rpartition(".")
    return ending.lower() if dot and stem else ""


def _strip_cited_file_extension(path: str) -> str:
    return path.removesuffix(f".{_cited_file_extension(path)}") if _cited_file_extension(path) else path


def _cited_file_stem(path: str) -> str:
    return _strip_cited_file_extension(path.rpartition("/")[2].lower())


def _normalize_cited_package(name: str) -> str:
    """Return the name of a package, or a manifest, for comparison: case, ``_`` and ``.`` do not matter."""
    return re.sub(r"[_.]", "-", name.lower())
