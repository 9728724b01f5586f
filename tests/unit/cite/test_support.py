import pytest

from custody.cite.codes import CitationCode
from custody.cite.document import ListEntry
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject
from custody.cite.support import find_unsupported_citations, score_citation_support

RULES = CiteRules()
TEXT = "In 2024 the price of chub mackerel rose by 12% in Pacific markets, as catches declined. " * 3
OTHER = "The museum of modern art opens a new wing for sculpture and photography next spring in town. " * 3


def chance(statement: str, text: str) -> float:
    said = score_citation_support(statement, text)
    assert said is not None
    return said.chance


def test_a_text_on_the_same_topic_scores_higher() -> None:
    statement = "Mackerel prices rose by 12% in 2024."
    assert chance(statement, TEXT) > 0.9
    assert chance(statement, OTHER) < 0.1


def test_chinese_is_compared_by_pairs_of_characters() -> None:
    assert chance("鲭鱼价格上涨了12%", "2024年，太平洋市场的鲭鱼价格上涨了12%，捕捞量下降。") > 0.9
    assert chance("鲭鱼价格上涨了12%", "博物馆明年春天开放新的雕塑展厅，欢迎大家参观。") < 0.1


def test_chinese_statements_have_a_fit_of_their_own() -> None:
    # All terms meet, so the score is 1: 1 / (1 + e^-(-3.92 + 16.0)) and 1 / (1 + e^-(-4.47 + 33.1)).
    assert 1 - chance("mackerel", "mackerel") == pytest.approx(5.6718e-06, rel=1e-4)
    assert 1 - chance("鲭鱼", "鲭鱼") == pytest.approx(3.6826e-13, rel=1e-2)


def test_terms_must_be_close_together() -> None:
    apart = (
        "mackerel " + "filler words of some length " * 200 + "prices " + "filler words of some length " * 200 + "rose"
    )
    assert chance("mackerel prices rose", apart) < chance("mackerel prices rose", "mackerel prices rose")


@pytest.mark.parametrize(("statement", "text"), [("Prices rose.", ""), ("?!", TEXT)])
def test_without_terms_support_is_unknown(statement: str, text: str) -> None:
    assert score_citation_support(statement, text) is None


def test_cited_sentences_are_compared_with_stored_texts() -> None:
    report = "Mackerel prices rose by 12% in 2024 [1]. Catches of mackerel declined in markets [2]."
    report += "\n\n## Sources\n\n1. A\n2. B\n"
    texts = {"1": OTHER, "2": TEXT}

    def text_of(entry: ListEntry) -> str | None:
        return texts.get(str(entry.label))

    found = list(find_unsupported_citations(AuditSubject.of(report.encode()), text_of, RULES))
    assert [(one.code, one.at) for one in found] == [(CitationCode.SUPPORT, 0)]
    assert list(find_unsupported_citations(AuditSubject.of(report.encode()), lambda _: None, RULES)) == []
