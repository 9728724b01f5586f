"""SQL about the edits of files."""

from collections.abc import Collection

from custody.core.digest import content_hashes_match
from custody.core.ids import ContentHash, SessionId
from custody.core.paths import RepoPath
from custody.core.views import FileEdit, FileState, TracedFile
from custody.store import ObservedView, Store
from custody.store.rows import HASH_TABLE, hash_digits

_HASH_PREFIX_DIGITS = 8
_AFTER_HEX = "g"


def edits_of_session(store: Store, session: SessionId) -> list[ObservedView[FileEdit]]:
    """Return the edits of a session, of any agent."""
    return store.views.look_up(FileEdit, "session = ?", (session,))


def edits_with(store: Store, content_hash: ContentHash) -> list[ObservedView[FileEdit]]:
    """Return the edits with this content hash, compared on the shorter length as document 000 says."""
    start = hash_digits(content_hash)[:_HASH_PREFIX_DIGITS]
    near = store.views.look_up(FileEdit, "hash >= ? AND hash < ?", (start, start + _AFTER_HEX), index=HASH_TABLE.name)
    return [seen for seen in near if any(content_hashes_match(content_hash, own) for own in seen.view.hashes)]


def paths_of_session(store: Store, session: SessionId) -> set[RepoPath]:
    """Return the files that a session edited, of any agent."""
    paths = store.views.distinct(FileEdit, "path", "session = ?", (session,))
    return {RepoPath(path) for path in paths if isinstance(path, bytes)}


def paths_in(store: Store, kinds: Collection[type[FileEdit | FileState | TracedFile]]) -> set[RepoPath]:
    """Return every file that any view of these kinds names."""
    return {RepoPath(path) for kind in kinds for path in store.views.distinct(kind, "path") if isinstance(path, bytes)}
