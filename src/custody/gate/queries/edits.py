"""SQL about contradictory recordings of edits."""

from custody.core.ids import SessionId
from custody.core.views import FileEdit
from custody.store import ObservedView, Store


def edits_recorded_twice(store: Store, session: SessionId) -> list[ObservedView[FileEdit]]:
    """Return the edits of a session whose observation was recorded more than once with different content."""
    other = "SELECT 1 FROM record a JOIN record b ON b.natural_key = a.natural_key AND b.digest <> a.digest"
    here = "a.store_id = file_edit.store_id AND a.seq = file_edit.seq"
    return store.views.look_up(FileEdit, f"session = ? AND EXISTS ({other} WHERE {here})", (session,))
