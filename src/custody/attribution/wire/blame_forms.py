"""Who wrote the lines of a file, in the shapes that code hosts and editors show beside them."""

from collections.abc import Iterator

from custody.attribution.wire.blame import TIER_WORDS, Attribution, BlameReport
from custody.core.wire.annotation import Annotation, encode_annotations
from custody.core.wire.sarif import SarifResult, SarifRule, encode_sarif

AGENT, MIXED, CONTESTED = "ATTR-LINES-AGENT", "ATTR-LINES-MIXED", "ATTR-LINES-CONTESTED"
RULES = (
    SarifRule(
        AGENT, "an agent's lines", "An agent wrote these lines, as far as records show.", "custody why FILE:LINE"
    ),
    SarifRule(MIXED, "partly an agent's lines", "An agent and a person wrote these lines.", "custody why FILE:LINE"),
    SarifRule(
        CONTESTED,
        "claimed by two",
        "Another tool claims these lines for somebody else.",
        "custody blame FILE -v shows both claims",
    ),
)
"""What a stretch of a file can be beside nobody's: people's lines and those without evidence are not told."""


def encode_blame_sarif(report: BlameReport, version: str) -> bytes:
    """A note for each stretch that is an agent's or partly one's."""
    results = [
        SarifResult(code, words, report.path, attribution.start_line, 1, "note", attribution.end_line)
        for attribution in report.attributions
        for code, words in _render_attribution(attribution)
    ]
    return encode_sarif(version, RULES, results)


def encode_blame_annotations(report: BlameReport) -> bytes:
    """The same as lines that a build prints."""
    return encode_annotations(
        Annotation(
            level="notice",
            title=code,
            message=words,
            file=report.path,
            first=attribution.start_line,
            last=attribution.end_line,
        )
        for attribution in report.attributions
        for code, words in _render_attribution(attribution)
    )


def _render_attribution(attribution: Attribution) -> Iterator[tuple[str, str]]:
    if attribution.kind in ("agent", "mixed"):
        who = f"{attribution.agent or 'an agent'}, {attribution.model_id or 'model unknown'}"
        sure = "" if attribution.tier is None else f", {TIER_WORDS[attribution.tier - 1]}"
        part = "" if attribution.kind == "agent" else f", {attribution.share:.0%} of each line"
        session = "" if attribution.session_id is None else f"; session {attribution.session_id}"
        yield AGENT if attribution.kind == "agent" else MIXED, f"{who}{part}{sure}{session}"
    for claim in attribution.claims:
        yield (
            CONTESTED,
            f"{claim.producer or 'a trace'} claims them for {claim.agent}, {claim.model_id or 'model unknown'}",
        )
