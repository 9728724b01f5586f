"""How well the audit finds faults in real reports, and whether converting changes anything else.

    python -m bench.cite_reports FOLDER [--seed S]

Every Markdown file in FOLDER with a list of at least three bracketed or counted sources is a report. The patterns of
this file alone decide what is listed and cited. One fault of each class is put into each report. It counts as found if
the audit names its class more often than before. Any other class that the audit then names, and that the fault does not
entail, counts against that class.
"""

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from custody.cite.audit import audit_citations
from custody.cite.codes import CitationCode
from custody.cite.convert import ConversionTarget, convert_citations
from custody.cite.document import CiteError
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject

_ROW = re.compile(r"^(?P<mark>\[(?P<a>\d{1,3})\]|(?P<b>\d{1,3})\.) +(?P<text>.*https?://\S+.*)$", re.MULTILINE)
_URL = re.compile(r"https?://[^\s)>\]]+")
_CITED = r"(?<!\[)\[{}\](?![(:\d\]])"
_ANY = re.compile(_CITED.format(r"(\d{1,3})"))
_OTHER_LIST = re.compile(r"^\s*(?:[-*+] +)?\[\d{1,3}\][ :].*https?://", re.MULTILINE)
STRUCTURE = frozenset(CitationCode) - {
    CitationCode.COVERAGE,
    CitationCode.SUPPORT,
    CitationCode.TEXT,
    CitationCode.NONE,
}
ROWS_MIN = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the list, with the number that it begins with."""

    number: int
    line: str


@dataclass(frozen=True, slots=True)
class Found:
    """A report in two parts: the text and the list; with the rows of the list, the first for each number."""

    body: str
    tail: str
    rows: tuple[Row, ...]

    def uses(self, number: int) -> int:
        """Return how often the text has a number as a marker."""
        return len(re.findall(_CITED.format(number), self.body))


def read(text: str) -> Found | None:
    """Return the last list of a text; None if there is none, or if its numbers have gaps."""
    rows = list(_ROW.finditer(text))
    first = next((at for at in range(len(rows) - 1, -1, -1) if int(rows[at]["a"] or rows[at]["b"]) == 1), None)
    if first is None:
        return None
    run = [Row(int(row["a"] or row["b"]), row[0]) for row in rows[first:]]
    if [row.number for row in run] != list(range(1, len(run) + 1)) or len(run) < ROWS_MIN:
        return None
    found = Found(text[: rows[first].start()], text[rows[first].start() :], tuple(run))
    return found if all(found.uses(row.number) for row in run) and not _OTHER_LIST.search(found.body) else None


Fault = Callable[[Found, random.Random], str | None]


def _after_a_marker(found: Found, dice: random.Random, new: str) -> str:
    place = dice.choice([match.end() for match in _ANY.finditer(found.body)])
    return found.body[:place] + new + found.body[place:] + found.tail


def unknown(found: Found, dice: random.Random) -> str | None:
    """Add a marker of an unlisted source."""
    return _after_a_marker(found, dice, f" [{len(found.rows) + dice.randint(1, 60)}]")


def backwards(found: Found, dice: random.Random) -> str | None:
    """Add a range that ends before it begins."""
    return _after_a_marker(found, dice, f" [{len(found.rows)}-1]")


def unused(found: Found, dice: random.Random) -> str | None:
    """Remove all markers of one source."""
    number = dice.choice(found.rows).number
    body = re.sub(_CITED.format(number), "", found.body)
    # In a group, a range or a link, the source would still be cited.
    return None if re.search(rf"[\[,–-] *{number} *[\],–-]", body) else body + found.tail


def gap(found: Found, dice: random.Random) -> str | None:
    """Give the last source a number that is not the next, in the list and in the text."""
    old, new = found.rows[-1].number, found.rows[-1].number + dice.randint(1, 9)
    line = found.rows[-1].line
    renumbered = line.replace(str(old), str(new), 1)
    return re.sub(_CITED.format(old), f"[{new}]", found.body) + found.tail.replace(line, renumbered, 1)


def disorder(found: Found, dice: random.Random) -> str | None:
    """Swap the markers of two sources in the text."""
    order = list(dict.fromkeys(int(number) for number in _ANY.findall(found.body)))
    if order != sorted(order):
        return None
    a, b = sorted(dice.sample(order, 2))
    swapped = {a: b, b: a}
    body = _ANY.sub(lambda match: f"[{swapped.get(int(match[1]), int(match[1]))}]", found.body)
    return body + found.tail


def twice(found: Found, dice: random.Random) -> str | None:
    """Give one source the URL of another, with a tracking parameter."""
    urls = {row.number: match[0] for row in found.rows if (match := _URL.search(row.line)) is not None}
    seen = Counter(urls.values())
    single = [
        row for row in found.rows if seen[urls.get(row.number, "")] == 1 and not set("#(") & set(urls[row.number])
    ]
    if len(single) < 2:
        return None
    first, second = dice.sample(single, 2)
    copied = urls[first.number]
    line = second.line.replace(urls[second.number], f"{copied}{'&' if '?' in copied else '?'}utm_source=newsletter", 1)
    return found.body + found.tail.replace(second.line, line, 1)


def domain(found: Found, dice: random.Random) -> str | None:
    """Remove the path of one source's URL."""
    row = dice.choice(found.rows)
    url = _URL.search(row.line)
    if url is None or "(" in url[0] or url[0].count("/") < 3 or not url[0].split("/", 3)[3]:
        return None
    return found.body + found.tail.replace(row.line, row.line.replace(url[0], "/".join(url[0].split("/", 3)[:3]), 1), 1)


def program(found: Found, dice: random.Random) -> str | None:
    """Replace one source's URL by one that runs a program."""
    row = dice.choice(found.rows)
    url = _URL.search(row.line)
    return (
        None
        if url is None
        else found.body + found.tail.replace(row.line, row.line.replace(url[0], "javascript:alert(1)", 1), 1)
    )


def glued(found: Found, dice: random.Random) -> str | None:
    """Join the rows of a list into one paragraph."""
    del dice
    lines = [
        row.line if row.line.startswith("[") else f"[{row.number}] {row.line.split('.', 1)[1]}" for row in found.rows
    ]
    return found.body.rstrip() + "\n\n" + "\n".join(line.strip() for line in lines) + "\n"


FAULTS: Mapping[CitationCode, Fault] = {
    CitationCode.UNKNOWN: unknown,
    CitationCode.RANGE: backwards,
    CitationCode.UNUSED: unused,
    CitationCode.GAP: gap,
    CitationCode.ORDER: disorder,
    CitationCode.TWICE: twice,
    CitationCode.DOMAIN: domain,
    CitationCode.SCHEME: program,
    CitationCode.LIST: glued,
}
ENTAILED: Mapping[CitationCode, frozenset[CitationCode]] = {
    CitationCode.RANGE: frozenset({CitationCode.ORDER}),
    CitationCode.UNKNOWN: frozenset(),
    CitationCode.TWICE: frozenset({CitationCode.DOMAIN}),
    CitationCode.DOMAIN: frozenset({CitationCode.TWICE}),
}
"""Side effects of a fault: a range uses sources early, a copied URL may be bare."""


def main() -> None:
    """Put faults into every report of a folder, and print the results."""
    words = argparse.ArgumentParser(prog="python -m bench.cite_reports")
    words.add_argument("folder", type=Path)
    words.add_argument("--seed", type=int, default=20260131)
    wanted = words.parse_args()
    dice = random.Random(wanted.seed)
    texts = [path.read_bytes() for path in sorted(wanted.folder.rglob("*.md"))]
    print(f"seed {wanted.seed}, {len(texts)} files")
    _conversions(texts)
    reports = [found for text in texts if (found := read(text.decode("utf-8", "replace"))) is not None]
    print(f"{len(reports)} reports with a numbered list and every source cited")
    put, seen, wrong = Counter[CitationCode](), Counter[CitationCode](), Counter[CitationCode]()
    for report in reports:
        before = _codes(report.body + report.tail)
        for code, fault in FAULTS.items():
            text = fault(report, dice)
            if text is None or (code is CitationCode.LIST and before[CitationCode.LIST]):
                continue
            after = _codes(text)
            put[code] += 1
            seen[code] += after[code] > before[code]
            more = {one for one in STRUCTURE if after[one] > before[one]} - {code} - ENTAILED.get(code, frozenset())
            wrong.update(more)
    for code in FAULTS:
        recall = seen[code] / put[code] if put[code] else float("nan")
        named = seen[code] + wrong[code]
        precision = seen[code] / named if named else float("nan")
        rates = f"recall {recall:.4f}, precision {precision:.4f}"
        print(f"{code.value}: put {put[code]}, {rates}, {wrong[code]} named wrongly")


def _codes(text: str) -> Counter[CitationCode]:
    return Counter(finding.code for finding in audit_citations(AuditSubject.of(text.encode()), CiteRules()).findings)


def _conversions(texts: list[bytes]) -> None:
    counts = Counter[str]()
    for text in texts:
        for to in ConversionTarget:
            counts.update(_converted(text, to))
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))


def _converted(text: bytes, to: ConversionTarget) -> Iterator[str]:
    try:
        once = convert_citations(text, to)
    except CiteError:
        yield "conversions refused"
        return
    yield "conversions"
    made, at = [], 0
    for change in once.changes:
        made += [text[at : change.start], change.new]
        at = change.end
    if b"".join([*made, text[at:]]) != once.text:
        yield "bytes changed elsewhere"
    if convert_citations(once.text, to).text != once.text:
        yield "the second conversion changed something"


if __name__ == "__main__":
    main()
