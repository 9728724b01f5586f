"""Which records say that a person read a hunk, or wrote lines."""

from collections.abc import Iterable

from custody.core.paths import RepoPath
from custody.core.views import AuthorClaim, HunkRead
from custody.store import ObservedView, Store, split_row_batches

NAMES_MAX = 500
"""Maximum hunks in one SQL statement."""


def find_hunk_reads(store: Store, hunks: Iterable[str]) -> list[ObservedView[HunkRead]]:
    """Return what was recorded about these hunks, oldest first."""
    found: list[ObservedView[HunkRead]] = []
    for batch in split_row_batches(dict.fromkeys(hunks), NAMES_MAX):
        marks = ", ".join("?" * len(batch))
        found += store.views.look_up(HunkRead, f"hunk IN ({marks})", tuple(batch))
    return sorted(found, key=lambda read: (read.view.at_ns, read.record.ref))


def list_read_ranges(store: Store) -> list[ObservedView[HunkRead]]:
    """Return a record for each head of a change that was read, at least in part."""
    first = "SELECT store_id, min(seq), n FROM hunk_read GROUP BY head, store_id, n"
    return store.views.look_up(HunkRead, f"(store_id, seq, n) IN ({first})", ())


def find_author_claims(store: Store, path: RepoPath) -> list[ObservedView[AuthorClaim]]:
    """Return what people said about the authors of a file, oldest first."""
    return store.views.look_up(AuthorClaim, "path = ?", (path.raw,))
