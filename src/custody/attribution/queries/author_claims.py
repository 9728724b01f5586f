"""Which records say that a person wrote lines by hand."""

from custody.core.views import AuthorClaim
from custody.store import ObservedView, Store


def list_author_claims(store: Store, count_max: int) -> list[ObservedView[AuthorClaim]]:
    """Return the newest statements, oldest first."""
    newest = f"SELECT store_id, seq, n FROM author_claim ORDER BY at_ns DESC LIMIT {int(count_max)}"
    return store.views.look_up(AuthorClaim, f"(store_id, seq, n) IN ({newest})", ())
