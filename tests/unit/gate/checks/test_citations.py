"""The reasons about a change whose texts lack citations."""

from msgspec.structs import replace

from custody.cite import Finding
from custody.cite.codes import CitationCode as CiteCode
from custody.gate.model import ChangeText
from tests.unit.gate.builders import UNSEEN, a_change, agents, codes, verdict

UNCITED = Finding(CiteCode.NONE, 1, 1, "the report cites nothing")


def with_texts(*texts: ChangeText) -> list[str]:
    return codes(replace(a_change(agents()), texts=texts))


def test_a_text_that_lacks_nothing_gives_no_reason() -> None:
    assert with_texts(ChangeText("report.md", ())) == []


def test_each_text_has_at_most_one_reason_of_each_code() -> None:
    broken = [Finding(CiteCode.UNKNOWN, line, 1, f"[{line}] is not listed") for line in range(1, 6)]
    assert with_texts(ChangeText("report.md", (UNCITED, *broken))) == ["CITE-UNCITED", "CITE-BROKEN"]
    seen = replace(a_change(agents()), texts=(ChangeText("report.md", tuple(broken)),))
    (reason,) = verdict(seen).reasons
    assert reason.sentence == (
        "report.md: line 1: [1] is not listed (CITE-UNKNOWN); line 2: [2] is not listed (CITE-UNKNOWN);"
        " line 3: [3] is not listed (CITE-UNKNOWN); and 2 more"
    )


def test_what_could_not_be_read_is_said() -> None:
    assert with_texts(ChangeText("report.md", UNSEEN)) == ["CITE-UNSEEN"]
    seen = replace(a_change(agents()), texts=(ChangeText("report.md", UNSEEN),))
    assert verdict(seen).reasons[0].sentence == "report.md was not checked"
