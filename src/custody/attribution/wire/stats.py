"""What ``custody stats`` answers: how many lines are whose, and which share of them is agents'."""

import msgspec

from custody.core.wire.report import Report


class LineShare(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that have something in common, by class.

    ``share`` is the part of them that is agents', mixed lines by their share; ``part`` is what they are of all lines.
    """

    name: str
    lines: int
    agent: int
    mixed: int
    person: int
    none: int
    share: float
    part: float


class StatsPeriod(LineShare, frozen=True, kw_only=True):
    """Lines that were first committed on one day or in one month; ``models`` counts those that agents wrote.

    ``before`` has what is older than anything that was captured, ``unknown`` what no commit's moment is known of.
    """

    models: dict[str, int]


class UncountedFile(msgspec.Struct, frozen=True):
    """A tracked file that was not counted, and why."""

    path: str
    why: str


class StatsReport(Report, frozen=True, kw_only=True, tag="stats"):
    """The lines of a file or folder as of a commit; ``path`` is null for the whole repository.

    ``months`` are those in which lines that are an agent's or partly so were first committed; ``growth`` has all
    lines by day, or by month where the days are many, in their order. Nothing was looked for before ``since``, which is
    null when nothing was captured. Of the files left out the first 1,000 are named. With an ``agent``, shares, models,
    tiers and months are of its lines; classes and agents are of all.
    """

    path: str | None
    agent: str | None = None
    revision: str
    rules_digest: str
    since: str | None
    files: int
    totals: LineShare
    classes: list[LineShare]
    models: list[LineShare]
    agents: list[LineShare]
    tiers: list[LineShare]
    folders: list[LineShare]
    months: list[LineShare]
    growth: list[StatsPeriod]
    left_out: list[UncountedFile]
    left_out_count: int
    notes: list[str]
