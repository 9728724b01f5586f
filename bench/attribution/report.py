"""Results for people (tables) and for programs (JSON). Only this file formats results."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from bench.attribution.run import Played
from bench.attribution.score import Judged, Outcome, Tally, by_sort, calibration, tally_of
from bench.columns import columns

JSON_VERSION = 1
SHOWN_MAX = 6

Group = tuple[str, str, list[Played]]


def groups(results: Sequence[Played]) -> list[Group]:
    """Group results by source and tool, in their order."""
    found: dict[tuple[str, str], list[Played]] = {}
    for one in results:
        found.setdefault((one.source, one.answerer), []).append(one)
    return [(source, answerer, played) for (source, answerer), played in found.items()]


def tables(results: Sequence[Played]) -> str:
    """Format the totals, then by kind of line, by tier, and the stories that are not exact."""
    shown = (
        (TOTALS, [totals_row(group) for group in groups(results)]),
        (SORTS, [row for group in groups(results) for row in sort_rows(group)]),
        (TIERS, [row for group in groups(results) for row in tier_rows(group)]),
        (INEXACT, [row for group in groups(results) for row in inexact_rows(group)]),
    )
    return "\n".join(columns(header, rows) for header, rows in shown if rows)


TOTALS = (
    "source",
    "tool",
    "asked",
    "exact",
    "precision",
    "recall",
    "right",
    "stolen",
    "mistaken",
    "missed",
    "clear",
    "left out",
    "unrecorded given",
    "failed",
)


def totals_row(group: Group) -> tuple[str, ...]:
    """Format one tool's figures over all stories, committed and in the work tree."""
    source, answerer, played = group
    answered = [one for one in played if not one.failure]
    total = tally_of(line for one in answered for line in one.lines)
    exact = sum(tally_of(one.lines).exact for one in answered)
    return (
        source,
        answerer,
        f"{len(played)}",
        f"{exact} of {len(answered)}",
        *figures(total),
        *(f"{total.count(one):,}" for one in Outcome),
        f"{unrecorded_given(answered)}",
        f"{len(played) - len(answered)}",
    )


def figures(tally: Tally) -> tuple[str, str]:
    """Precision and recall."""
    return f"{tally.precision:.4f}", f"{tally.recall:.4f}"


def unrecorded_given(played: Iterable[Played]) -> int:
    """Count the lines attributed to an agent in stories without agents."""
    return sum(tally_of(one.lines).wrong for one in played if one.scenario.unrecorded)


SORTS = ("source", "tool", "lines", "count", "precision", "recall", "stolen", "mistaken", "missed", "left out")
COUNTED = (Outcome.STOLEN, Outcome.MISTAKEN, Outcome.MISSED, Outcome.LEFT_OUT)


def sort_rows(group: Group) -> Iterator[tuple[str, ...]]:
    """Yield one tool's figures by kind of line, and by question."""
    source, answerer, played = group
    asked = {"committed": tally_of(line for one in played for line in one.head)}
    asked["work tree"] = tally_of(line for one in played for line in one.tree)
    sorts = {sort.value: tally for sort, tally in by_sort(line for one in played for line in one.lines).items()}
    for name, tally in {**asked, **sorts}.items():
        counts = (f"{tally.count(one):,}" for one in COUNTED)
        yield (source, answerer, name, f"{tally.count(*Outcome):,}", *figures(tally), *counts)


TIERS = ("source", "tool", "tier", "class", "lines given", "right")


def tier_rows(group: Group) -> Iterator[tuple[str, ...]]:
    """Format how often one tool is right, by tier and class."""
    source, answerer, played = group
    found = calibration(line for one in played for line in one.lines)
    for (tier, name), tally in sorted(found.items(), key=lambda item: (item[0][0] or 0, item[0][1])):
        given = tally.count(Outcome.RIGHT) + tally.wrong
        share = f"{tally.count(Outcome.RIGHT) / given:.4f}" if given else "none counted"
        yield (source, answerer, "none" if tier is None else str(tier), name, f"{given:,}", share)


INEXACT = ("source", "tool", "story", "stolen", "mistaken", "missed", "where")


def inexact_rows(group: Group) -> Iterator[tuple[str, ...]]:
    """Format every story that a tool did not get exactly right, with the lines."""
    source, answerer, played = group
    for one in played:
        tally = tally_of(one.lines)
        if one.failure:
            yield (source, answerer, one.scenario.name, "", "", "", one.failure.replace("\n", " ")[:160])
        elif not tally.exact:
            counts = (f"{tally.count(one)}" for one in COUNTED[:3])
            yield (source, answerer, one.scenario.name, *counts, where(one) + unknowable(one))


def unknowable(played: Played) -> str:
    """Return a note if the source cannot show the written lines."""
    told = played.scenario.by_program and played.source == "transcripts"
    return " (a transcript does not show what a program writes)" if told else ""


def where(played: Played) -> str:
    """Return the first lines that are wrong or missed."""
    bad = [
        f"{asked} {line.path}:{line.number} {line.outcome.value}"
        for asked, lines in (("committed", played.head), ("tree", played.tree))
        for line in lines
        if line.outcome in COUNTED[:3]
    ]
    more = f" and {len(bad) - SHOWN_MAX} more" if len(bad) > SHOWN_MAX else ""
    return ", ".join(bad[:SHOWN_MAX]) + more


def as_json(results: Sequence[Played]) -> dict[str, Any]:
    """Return the content of the tables, and every wrong or missed line."""
    return {"version": JSON_VERSION, "groups": [group_as_json(group) for group in groups(results)]}


def group_as_json(group: Group) -> dict[str, Any]:
    """Return one tool's results from one source."""
    source, answerer, played = group
    answered = [one for one in played if not one.failure]
    lines = [line for one in answered for line in one.lines]
    return {
        "source": source,
        "tool": answerer,
        "total": tally_as_json(tally_of(lines)),
        "unrecorded_given": unrecorded_given(answered),
        "sorts": {sort.value: tally_as_json(tally) for sort, tally in by_sort(lines).items()},
        "tiers": [
            {"tier": tier, "class": name, **tally_as_json(tally)} for (tier, name), tally in calibration(lines).items()
        ],
        "stories": [story_as_json(one) for one in played],
    }


def tally_as_json(tally: Tally) -> dict[str, Any]:
    """Precision, recall and counts."""
    counts = {one.name.lower(): tally.count(one) for one in Outcome}
    return {"precision": tally.precision, "recall": tally.recall, **counts}


def story_as_json(played: Played) -> dict[str, Any]:
    """Return one story, with the lines that are wrong or missed."""
    tally = tally_of(played.lines)
    asked = (("committed", played.head), ("tree", played.tree))
    bad = [line_as_json(asked, line) for asked, lines in asked for line in lines if line.outcome in COUNTED[:3]]
    return {
        "name": played.scenario.name,
        "exact": tally.exact and not played.failure,
        "failure": played.failure or None,
        **tally_as_json(tally),
        "lines": bad,
    }


def line_as_json(asked: str, line: Judged) -> dict[str, Any]:
    """Return one line with its truth and the tool's answer."""
    return {
        "asked": asked,
        "path": line.path,
        "line": line.number,
        "text": line.line.text,
        "truth": line.line.who.kind.value,
        "truth_session": line.line.who.session,
        "said": line.said.name,
        "said_session": line.said.session,
        "tier": line.said.tier,
        "outcome": line.outcome.value,
    }
