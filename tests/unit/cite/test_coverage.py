import pytest
import sentencex  # type: ignore[import-untyped]

from custody.cite.audit import measure_citation_coverage
from custody.cite.prose import is_citable_sentence, split_report_sentences
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject
from tests.builders.table import table

RULES = CiteRules()
LIST = "\n\n## Sources\n\n1. A <https://example.org/a>\n2. B <https://example.org/b>\n"


def told(text: str) -> list[tuple[str, bool]]:
    return [(one.text.strip(), one.cited) for one in split_report_sentences(AuditSubject.of((text + LIST).encode()))]


@table(
    "sentence",
    [
        "The price rose by 12 percent.",
        "It happened in early March again.",
        "The agency in Norway said nothing.",
        "All of it was done by the WHO.",
        "Boats are smaller than they were.",
        "The catch declined over the years.",
        "They called it “a good year” there.",
        "价格比去年同期明显上涨很多。",
        "北京大学的学者们作了研究。",
        "《水产年鉴》记录了这些情况。",
        "该系统基于Transformer架构实现。",
    ],
)
def test_numbers_names_comparisons_and_quotations_are_evidence(sentence: str) -> None:
    assert is_citable_sentence(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "This is an introduction to it.",
        "In 2024:",
        "It was 5.",
        "这是本文的一个简单介绍。",
        "见下表：2024年的数据如下：",
        "",
    ],
)
def test_other_short_or_introducing_sentences_have_no_evidence(sentence: str) -> None:
    assert not is_citable_sentence(sentence)


def test_a_marker_cites_the_sentence_it_is_in_or_after() -> None:
    assert told("One rose [1]. Two fell.[2] Three grew. [1][2] Four stayed.") == [
        ("One rose    .", True),
        ("Two fell.", True),
        ("Three grew.", True),
        ("Four stayed.", False),
    ]


@pytest.mark.parametrize("word", ["May", "Inc", "et al."])
def test_a_period_after_a_marker_ends_the_sentence(word: str) -> None:
    assert [cited for _, cited in told(f"Phones were sold by {word} [1][2]. Prices rose by nine percent.")] == [
        True,
        False,
    ]


def test_chinese_sentences_are_split() -> None:
    assert told("价格上涨了12%[1]。产量下降。[2]船只变小！谁知道？") == [
        ("价格上涨了12%   。", True),
        ("产量下降。", True),
        ("船只变小！", False),
        ("谁知道？", False),
    ]


def test_a_marker_at_the_beginning_of_a_paragraph_cites_its_first_sentence() -> None:
    assert told("Before.\n\n[1] One rose. Two fell.") == [("Before.", False), ("One rose.", True), ("Two fell.", False)]


def test_links_and_addresses_cite() -> None:
    text = "See [the page](https://example.org/x). See https://example.org/y now. See [it](#x)."
    assert [cited for _, cited in told(text)] == [True, True, False]


def test_headings_tables_quotes_code_and_the_list_do_not_count() -> None:
    text = "# Prices rose in 2024\n\n**Bold heading of 2024**\n\n| Prices | 2024 |\n|---|---|\n| rose | 12% |\n\n"
    text += "> Prices rose by 12% in 2024.\n\n```\nPrices rose by 12% in 2024.\n```\n\n<p>Prices rose by 12%.</p>"
    assert told(text) == []


def test_items_are_prose() -> None:
    assert told("- One rose [1].\n- Two fell.\n  1. Three grew [2].") == [
        ("One rose    .", True),
        ("Two fell.", False),
        ("Three grew    .", True),
    ]


# Conformance: 003-085, 003-093
def test_coverage_has_the_positions_of_uncited_sentences() -> None:
    text = "Prices rose by 12% [1]. Hello there all of you.\n\n价格下降了3个百分点左右。Thanks a lot [2]."
    coverage = measure_citation_coverage(AuditSubject.of((text + LIST).encode()))
    assert (coverage.cited, coverage.total, coverage.ratio) == (2, 3, 2 / 3)
    assert coverage.missing == ((3, 1),)


def test_many_paragraphs_in_two_languages_keep_their_positions() -> None:
    parts = [f"Prices rose by {n}% here.\n\n价格下降了{n}个百分点左右。他们都这么说的。" for n in range(1, 400)]
    found = split_report_sentences(AuditSubject.of("\n\n".join(parts).encode()))
    data = "\n\n".join(parts).encode()
    assert len(found) == 3 * 399
    for one in found:
        assert data[one.at :].decode().startswith(one.text.strip())


def test_paragraphs_are_split_separately_when_the_splitter_joins_them(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Prices rose by 3%. Catches fell [1].\n\nBoats are smaller."
    expected = told(text)
    assert [sentence for sentence, _ in expected] == ["Prices rose by 3%.", "Catches fell    .", "Boats are smaller."]
    split = sentencex.segment
    monkeypatch.setattr(sentencex, "segment", lambda language, part: [part] if "\n" in part else split(language, part))
    assert told(text) == expected
