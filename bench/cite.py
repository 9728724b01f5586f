"""The time to convert and to audit a report, against only parsing its Markdown.

The parse is pyromark's, with the range of every event, taken out of it one by one: what any reader of Markdown does
first. The reports are generated: paragraphs with markers, headings, a table, code, a list of thirty sources.
"""

import pyromark

from bench.bars import BenchError, at_most
from bench.runner import Bench, Ground, Sides
from custody.cite.audit import audit_citations
from custody.cite.convert import ConversionTarget, convert_citations
from custody.cite.markdown import OPTIONS
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject

SOURCES = 30
SECTIONS = 12
CITATIONS_MIN = 100

_ENGLISH = (
    "The price of **chub mackerel** rose by {n}% in 2024 [{a}], while catches in the *northern* grounds fell to"
    " {n},000 tonnes [{b}]. Surveys suggest that larger fish moved north earlier than in previous years [{a}, {c}]."
    " The agency's model, `index[{n}]`, explains most of it."
)
_CHINESE = (
    "2024年**鲭鱼**价格上涨了{n}%[{a}]，而北部渔场的捕捞量下降到{n}000吨。[{b}]"
    "调查显示，较大的鱼比往年更早北上【{c}】。该机构的模型`index[{n}]`解释了大部分变化。"
)


def a_report(paragraph: str) -> bytes:
    """Return a report of a usual size in the language of ``paragraph``."""
    parts = ["# Report"]
    for section in range(SECTIONS):
        parts.append(f"## Part {section + 1}")
        for place in range(4):
            n = section * 4 + place
            parts.append(
                paragraph.format(n=n + 2, a=n % SOURCES + 1, b=(n + 7) % SOURCES + 1, c=(n + 13) % SOURCES + 1)
            )
        parts.append("- a point\n- another [one](https://example.org/page)\n- a third, see `code[1]`")
    parts.append("| year | price |\n|---|---|\n" + "\n".join(f"| {2000 + n} | {n} [{n + 1}] |" for n in range(20)))
    rows = (f"{n}. Title of source {n} <https://example.org/source/{n}>" for n in range(1, SOURCES + 1))
    return "\n\n".join([*parts, "## References", "\n".join(rows)]).encode()


def _sides(ground: Ground, paragraph: str, *, auditing: bool) -> Sides:
    del ground
    data = a_report(paragraph)
    text = data.decode()
    rules = CiteRules()
    if (
        audit_citations(AuditSubject.of(data), rules).markers < CITATIONS_MIN
        or convert_citations(data, ConversionTarget.FOOTNOTES).text.count(b"[^") < CITATIONS_MIN
    ):
        raise BenchError("the report was not parsed correctly")
    return Sides(
        subject=(lambda: audit_citations(AuditSubject.of(data), rules))
        if auditing
        else (lambda: convert_citations(data, ConversionTarget.FOOTNOTES)),
        baseline=lambda: list(pyromark.events_with_range(text, options=OPTIONS)),
    )


def _bench(name: str, paragraph: str, *, auditing: bool) -> Bench:
    return Bench(
        name=f"cite-{'audit' if auditing else 'convert'}-{name}",
        what=f"{'auditing' if auditing else 'converting'} a report ({name}) with 164 citations of {SOURCES} sources",
        baseline="parsing its Markdown",
        bar=at_most(6 if auditing else 3),
        set_up=lambda ground: _sides(ground, paragraph, auditing=auditing),
    )


BENCHES = (
    _bench("english", _ENGLISH, auditing=False),
    _bench("chinese", _CHINESE, auditing=False),
    _bench("english", _ENGLISH, auditing=True),
    _bench("chinese", _CHINESE, auditing=True),
)
