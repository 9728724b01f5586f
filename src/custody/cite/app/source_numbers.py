"""Numbers of registered sources, read without loading what citing needs."""

from custody.cite.queries.registry import RegistryTables
from custody.store import Store


def last_source_number(store: Store) -> int:
    """Return the highest number that this store's registry gave; 0 when there is none."""
    return RegistryTables(store).shelf(store.own()).last()


def page_source_number(store: Store, url: str) -> int | None:
    """Return the number of the source that a page is registered as; None when it is not registered."""
    from custody.cite.urls import url_key  # few callers have a page, and its parser takes a while to import

    page = url_key(url)
    return None if page is None else RegistryTables(store).number_at(store.own(), f"url:{page}")
