"""Whether a source is known: how the look-up grows with the registry, and what it costs against a look-up by number.

The rows are written directly, not replayed: they are the same, and registering is not measured here.
"""

import msgspec

from bench.bars import BenchError, at_most
from bench.growth import Growth, Population
from bench.runner import Bench, Ground, Sides
from custody.cite.catalog import CatalogEntry, RegistrationReason, SourceRegistration, Stamp
from custody.cite.event_fold import add_source_registration
from custody.cite.keys import compute_source_keys
from custody.cite.model import ResearchSource
from custody.cite.queries.registry import RegistryTables, TableCatalog
from custody.cite.registry import identify_source, plan_source_registration
from custody.core.ids import StoreId
from custody.store import Heads, Store, StoreEnvironment, open_sqlite
from custody.store.sqlite import SqliteDb
from custody.store.tables import digest_table_key
from custody.workspace.wiring import VIEWS

BATCH = 10_000
SMALL, LARGE = 5_000, 1_000_000
SITES, YEARS = 1000, 26
REGISTRY = StoreId("0" * 32)
STAMP = Stamp(id="bench", at_ns=0)


def a_source(n: int, site: int | None = None, year: int | None = None) -> ResearchSource:
    """Return the ``n``-th source: a page with the metadata of a search result."""
    site = n % SITES if site is None else site
    return ResearchSource(
        title=f"The title of page number {n}",
        url=f"https://site{site}.example/section/{n}/a-page-of-some-length?id={n}",
        publisher=f"Publisher {site}",
        metadata={
            "year": 2000 + n % YEARS if year is None else year,
            "snippet": f"Some words that a search engine showed of page {n}.",
        },
    )


def an_entry(n: int, said: ResearchSource) -> tuple[bytes, str]:
    """Return the rows that registering a source makes: those under its number, and its key."""
    event = SourceRegistration(
        stamp=STAMP, number=n, how=RegistrationReason.NEW, keys=compute_source_keys(said), source=said
    )
    return msgspec.json.encode(add_source_registration(CatalogEntry(number=n), event)), event.keys.canonical


PLACE, SITE, YEAR = 7_000_000_001, 8_000_000_002, 9_000_000_003
"""Placeholders in the pattern for the numbers of a source."""
PATTERN = an_entry(PLACE, a_source(PLACE, SITE, YEAR))


def a_row(n: int) -> tuple[bytes, str]:
    """Return the same rows, made from a pattern: a million registrations would take too long."""
    state, key = PATTERN
    for token, number in ((PLACE, n), (SITE, n % SITES), (YEAR, 2000 + n % YEARS)):
        state = state.replace(str(token).encode(), str(number).encode())
        key = key.replace(str(token), str(number))
    return state, key


def filled(ground: Ground, size: int) -> tuple[SqliteDb, TableCatalog]:
    """Return a registry of ``size`` sources."""
    db = open_sqlite(ground.folder / "custody.db")
    store = Store(db, VIEWS, StoreEnvironment(lambda: 0, lambda: REGISTRY, Heads(ground.folder)))
    for numbers in ground.number_batches(size, BATCH):
        made = [(n + 1, *a_row(n + 1)) for n in numbers]
        with db.writing():
            db.run_for_each(
                "INSERT OR IGNORE INTO registry_source (registry, n, state) VALUES (?, ?, ?)",
                [(REGISTRY, n, state) for n, state, _ in made],
            )
            db.run_for_each(
                "INSERT OR IGNORE INTO registry_key (registry, key, n) VALUES (?, ?, ?)",
                [(REGISTRY, digest_table_key(key), n) for n, _, key in made],
            )
    if a_row(size // 2) != an_entry(size // 2, a_source(size // 2)):
        raise BenchError("the inserted rows differ from those of a registration")
    return db, RegistryTables(store).catalog(REGISTRY)


def known_by_key(catalog: TableCatalog, key: str) -> object:
    """Look up the source with a canonical key: the dedupe check."""
    number = catalog.number_at(key)
    entry = None if number is None else catalog.entry(number)
    return None if entry is None else identify_source(catalog, entry)


def populate(ground: Ground, size: int) -> Population:
    """Return the look-ups of a registration."""
    db, catalog = filled(ground, size)
    n = size // 2
    source = a_source(n)
    key = compute_source_keys(source).canonical
    return Population(
        db.connection,
        {
            "source by number (primary key)": lambda: catalog.entry(n),
            "number by canonical key (primary key)": lambda: catalog.number_at(key),
            "dedupe check: identity by canonical key": lambda: known_by_key(catalog, key),
            "registering a known source": lambda: plan_source_registration(catalog, source, STAMP)[0],
        },
        db.close,
    )


def against_number(ground: Ground) -> Sides:
    """Compare the dedupe check among 1,000,000 sources with reading one of them by its number."""
    db, catalog = filled(ground, LARGE)
    n = LARGE // 2
    key = compute_source_keys(a_source(n)).canonical
    return Sides(lambda: known_by_key(catalog, key), lambda: catalog.entry(n), db.close)


BENCHES = (
    Growth(
        name="cite-look-ups",
        what="SQLite steps of looking up a source among 1,000,000 against those among 5,000",
        populate=populate,
        small=SMALL,
        large=LARGE,
    ),
    Bench(
        name="cite-dedupe",
        what="whether a source is known, among 1,000,000",
        baseline="reading one source by its number, which is its primary key",
        bar=at_most(3),
        set_up=against_number,
    ),
)
