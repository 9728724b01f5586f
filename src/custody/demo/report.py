"""What ``custody demo`` answers: every command of the story, and whether it answered as the story claims."""

import msgspec

from custody.core.wire.report import Report


class DemoCommand(msgspec.Struct, frozen=True):
    """A command as one would type it, its exit status, and what the story claims that its answer does not bear out."""

    line: str
    status: int
    as_told: bool
    wrong: list[str]


class DemoStep(msgspec.Struct, frozen=True):
    """One heading of the story with its commands."""

    title: str
    commands: list[DemoCommand]


class DemoReport(Report, frozen=True, kw_only=True, tag="demo"):
    """The story as it went; ``folder`` is the repository if it was kept."""

    steps: list[DemoStep]
    folder: str | None = None
