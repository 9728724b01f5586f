"""The JSON of imports and exports of other tools' claims.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""

from custody.core.wire.report import ImportProblem, ImportTranscriptsReport, Report

# What importing and exporting the claims of other attribution tools says.


class ImportGitAiReport(Report, frozen=True, kw_only=True, tag="import-git-ai"):
    """What was read of git-ai's notes and what became of it; of the problems the first 1,000.

    ``gone`` notes are on commits that are not here: what they say of lines cannot be about any line here. ``silent``
    notes give no line to an agent. ``undescribed`` is how many stretches are given to a session that no note describes.
    ``new`` and ``known`` are records, one for each session of a commit, and ``lines`` how many lines they claim.
    """

    place: str
    refs: list[str]
    notes: int
    gone: int
    silent: int
    unreadable: int
    undescribed: int
    sessions: int
    lines: int
    new: int
    known: int
    versions: dict[str, int]
    problems: list[ImportProblem]
    problem_count: int


class ImportEntireReport(Report, frozen=True, kw_only=True, tag="import-entire"):
    """What was read of Entire's checkpoints and what became of it; of the problems the first 1,000.

    ``transcripts`` are read by the readers of the agents that wrote them, each with a report of its own. ``without``
    sessions have no transcript that could be read. ``commits`` is how many commits name a checkpoint in their message.
    """

    place: str
    refs: list[str]
    checkpoints: int
    sessions: int
    without: int
    commits: int
    links: int
    known_links: int
    transcripts: list[ImportTranscriptsReport]
    problems: list[ImportProblem]
    problem_count: int


class ExportGitAiReport(Report, frozen=True, kw_only=True, tag="export-git-ai"):
    """What was written: notes for ``commits``, by ``sessions`` that wrote ``lines``.

    ``kept`` notes of the same reference are somebody else's, or somebody added to ours, on commits that ours would be
    on: they stay as they are. ``kept_on`` names these commits, the first 1,000.
    ``left_out`` files have names that cannot stand in a note.
    """

    path: str
    ref: str | None
    commits: int
    sessions: int
    lines: int
    unchanged: int
    kept: int
    kept_on: list[str]
    left_out: int
