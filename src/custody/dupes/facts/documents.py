"""The structure of documents: headings, code blocks, references to issues; one pass over the lines."""

from collections.abc import Iterator

from msgspec import Struct, field

from custody.core.paths import Lines
from custody.core.patterns import lazy_pattern
from custody.dupes.facts.model import DocumentHeading, FactLimits, FencedCode, Reference, Structure

LINE_CHARS_MAX = 10_000
"""Characters read per line."""

_ATX = lazy_pattern(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_ATX_END = lazy_pattern(r"[ \t]+#+[ \t]*$")
_FENCE = lazy_pattern(r" {0,3}(`{3,}|~{3,})[ \t]*\{?\.?([\w+#.-]*)")
_LIST_MARK = lazy_pattern(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+")
_RULE = lazy_pattern(r"([!-/:-@[-`{-~])\1{2,}[ \t]*$")
_DIRECTIVE = lazy_pattern(
    r"([ \t]*)\.\. (?:code-block|code|sourcecode|highlight|doctest|literalinclude)::[ \t]*([\w+#.-]*)"
)
_TOKEN = lazy_pattern(r"\w+|[^\w\s]")
_REFERENCE = lazy_pattern(
    r"https?://github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull|discussions)/(\d{1,9})\b"
    r"|(?<![\w/#&])([\w.-]+/[\w.-]+)?#(\d{1,9})\b(?![-\w])"
    r"|:(?:issue|pr|pull|user-issue|ticket|bug):`(\d{1,9})`"
)


class _DocumentFacts(Struct):
    """The facts found so far."""

    headings: list[DocumentHeading] = field(default_factory=list)
    blocks: list[FencedCode] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)

    def structure(self) -> Structure:
        return Structure(tuple(self.headings), tuple(self.blocks), tuple(self.references))

    def refer(self, line: str, number: int) -> None:
        if "#" in line or "github.com" in line or "`" in line:
            self.references += (Reference(name, Lines(number, number)) for name in _find_issue_references(line))


def _find_issue_references(line: str) -> Iterator[str]:
    for match in _REFERENCE.finditer(line):
        linked, number, owner, short, role = match.groups()
        yield f"{linked or owner or ''}#{number or short or role}"


def _split_document_lines(text: str) -> list[str]:
    """Return the lines of a text as git counts them, without line ends."""
    return [line.removesuffix("\r")[:LINE_CHARS_MAX] for line in text.removeprefix("\ufeff").split("\n")]


class _Code:
    """A code block while it is read: its first tokens and its first line."""

    def __init__(self, first: int, language: str, tokens_max: int) -> None:
        self._first, self._language, self._max = first, language.casefold(), tokens_max
        self._tokens: list[str] = []

    def add(self, line: str) -> None:
        for match in _TOKEN.finditer(line):
            if len(self._tokens) >= self._max:
                return
            self._tokens.append(match.group())

    def to_fenced_code(self, last: int) -> FencedCode:
        return FencedCode(self._language, tuple(self._tokens), Lines(self._first, last))


def parse_markdown_structure(text: str, limits: FactLimits) -> Structure:
    """Return the structure of a Markdown document: ATX and setext headings, fenced blocks, references outside them."""
    facts = _DocumentFacts()
    code: _Code | None = None
    fence = above = ""
    number = 0
    lines = _split_document_lines(text)
    for number, line in enumerate(lines, start=1):
        inner = line
        while code is None and (mark := _LIST_MARK.match(inner)):
            inner = inner[mark.end() :]
        opened = _FENCE.match(inner) if code is None else _FENCE.match(line.lstrip())
        if code is not None:
            if opened and opened[1].startswith(fence) and not line.strip().strip(fence[0]):
                facts.blocks.append(code.to_fenced_code(number))
                code = None
            else:
                code.add(line)
            continue
        if opened:
            fence, code = opened[1], _Code(number, opened[2], limits.block_tokens_max)
            above = ""
            continue
        facts.refer(line, number)
        above = _extract_markdown_heading(facts, line, above, number)
    if code is not None:
        facts.blocks.append(code.to_fenced_code(number))
    return facts.structure()


def _extract_markdown_heading(facts: _DocumentFacts, line: str, above: str, number: int) -> str:
    """Add the heading that ``line`` completes, if any; return the text that the next line may underline."""
    if atx := _ATX.match(line):
        facts.headings.append(
            DocumentHeading(len(atx[1]), _ATX_END.sub("", atx[2] or "").strip(), Lines(number, number))
        )
        return ""
    under = line.strip()
    if above and under and not line.startswith("    ") and (under.strip("=") == "" or under.strip("-") == ""):
        facts.headings.append(DocumentHeading(1 if under[0] == "=" else 2, above, Lines(number - 1, number)))
        return ""
    return "" if line.startswith((" " * 4, "\t", ">", "|")) or _LIST_MARK.match(line) else under


def parse_restructuredtext_structure(text: str, limits: FactLimits) -> Structure:
    """Return the structure of a reStructuredText document: headings, code directives, literal blocks, references.

    The level of a heading is the order in which its underline character was first used.
    """
    facts = _DocumentFacts()
    styles: list[tuple[str, bool]] = []
    lines = _split_document_lines(text)
    at = 0
    while at < len(lines):
        line = lines[at]
        facts.refer(line, at + 1)
        if block := _DIRECTIVE.match(line):
            at = _extract_indented_block(facts, lines, at, len(block[1]), block[2], limits)
        elif line.endswith("::") and not line.lstrip().startswith(".."):
            at = _extract_indented_block(facts, lines, at, len(line) - len(line.lstrip()), "", limits)
        else:
            _extract_restructuredtext_heading(facts, lines, at, styles)
            at += 1
    return facts.structure()


def _extract_restructuredtext_heading(
    facts: _DocumentFacts, lines: list[str], at: int, styles: list[tuple[str, bool]]
) -> None:
    """Add the heading whose underline is the line at ``at``, if it is one."""
    line, above = lines[at].rstrip(), lines[at - 1].strip() if at else ""
    if not above or not _RULE.match(line) or _RULE.match(above) or len(line) < len(above):
        return
    over = at > 1 and lines[at - 2].rstrip() == line
    if at > 1 and lines[at - 2].strip() and not over:
        return
    style = (line[0], over)
    if style not in styles:
        styles.append(style)
    facts.headings.append(DocumentHeading(styles.index(style) + 1, above, Lines(at - 1 if over else at, at + 1)))


def _extract_indented_block(
    facts: _DocumentFacts, lines: list[str], at: int, indent: int, language: str, limits: FactLimits
) -> int:
    """Add the code block that belongs to the line at ``at``; return the index after it."""
    code = _Code(at + 1, language, limits.block_tokens_max)
    last, here = at, at + 1
    while here < len(lines):
        line = lines[here]
        if line.strip():
            if len(line) - len(line.lstrip()) <= indent:
                break
            last = here
            if not (line.lstrip().startswith(":") and last <= at + 4):
                code.add(line)
        here += 1
    if last > at:
        facts.blocks.append(code.to_fenced_code(last + 1))
    return last + 1
