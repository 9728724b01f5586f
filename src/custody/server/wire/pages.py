"""What ``custody report`` answers."""

from custody.core.wire.report import Report


class PagesReport(Report, frozen=True, kw_only=True, tag="report"):
    """The folder and its first page; ``left_out`` pages have no link, ``failed`` ones say why in their place."""

    folder: str
    first: str
    files: int
    pages: int
    left_out: int
    failed: list[str]
    texts: bool
