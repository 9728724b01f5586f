"""Why an attribution is as certain as it is, in words."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

SIGNALS_SHOWN_MAX = 2
SIGNAL_REASONS: Mapping[str, str] = MappingProxyType(
    {
        "commit_link": "commit linked to the session",
        "content_hash": "exactly the same text",
        "revision_parent": "edited on top of the commit's parent",
        "revision_ancestor": "edited on top of an earlier commit",
        "range_match": "same place in the file",
        "range_overlap": "near this place in the file",
        "timestamp_match": "near the commit in time",
        "named_by_commit": "named only by the commit, which anyone can write",
    }
)


def list_certainty_reasons(
    points: Mapping[str, float], grade: str | None, *, is_named_by_commit: bool
) -> Iterator[str]:
    """Yield how lines were recorded, and the strongest signals by their ``points``."""
    if not is_named_by_commit:
        yield "imported, not recorded live" if grade == "claimed" else "recorded live"
    names = sorted(points, key=lambda name: -points[name])
    yield from [SIGNAL_REASONS[name] for name in names if name in SIGNAL_REASONS][:SIGNALS_SHOWN_MAX]
