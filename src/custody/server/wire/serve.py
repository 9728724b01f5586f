"""What ``custody serve`` says when it begins to answer."""

from custody.core.wire.report import Report


class ServeReport(Report, frozen=True, kw_only=True, tag="serve"):
    """Where the service answers; the token of this start is not in it."""

    url: str
    host: str
    port: int
