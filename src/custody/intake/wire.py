"""Reports of imports and exports of other attribution tools' claims.

May import ``core``, msgspec and the standard library's value tools; it touches nothing outside.
"""

from msgspec import field

from custody.core.wire.report import ImportProblem, ImportTranscriptsReport, Report


class ImportGitAiReport(Report, frozen=True, kw_only=True, tag="import-git-ai"):
    """The result of importing git-ai's notes, with the first 1,000 problems.

    ``gone`` notes are on commits that are not in this repository. ``silent`` notes attribute no line to an agent.
    ``undescribed`` counts line ranges of sessions that no note describes. ``new`` and ``known`` are records, one for
    each session of a commit, and ``lines`` how many lines they claim.
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
    transcripts: list[ImportTranscriptsReport] = field(default_factory=list)


class ImportEntireReport(Report, frozen=True, kw_only=True, tag="import-entire"):
    """The result of importing Entire's checkpoints, with the first 1,000 problems.

    ``transcripts`` has one report for each agent. ``without`` counts sessions without a readable transcript.
    ``commits`` counts commits that name a checkpoint in their message.
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


class ImportAgentsReport(Report, frozen=True, kw_only=True, tag="import-agents"):
    """The imports of all agents; ``without`` has agents without sessions here, ``trouble`` those that failed.

    ``notes`` and ``checkpoints`` are the imports of git-ai's and Entire's references, null if there are none.
    """

    agents: list[ImportTranscriptsReport]
    without: list[str]
    trouble: dict[str, str]
    notes: ImportGitAiReport | None = None
    checkpoints: ImportEntireReport | None = None


class ExportGitAiReport(Report, frozen=True, kw_only=True, tag="export-git-ai"):
    """The result of an export: notes for ``commits``, by ``sessions`` that wrote ``lines``.

    ``kept`` counts commits that already have a note of another tool, or one of ours that was edited: it is not
    changed. ``kept_on`` names these commits, the first 1,000. ``left_out`` files have names that a note cannot hold.
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
