"""A staged catalog: it shows stored and staged entries, and the stored ones never change."""

from hypothesis import given
from hypothesis import strategies as st

from custody.cite.catalog import Catalog, MemoryCatalog, RegistryChange, StagedCatalog, Stamp
from custody.cite.event_fold import apply_source_event
from custody.cite.links import LinkAnswer, LinkCheck, LinkMemory
from custody.cite.model import ArtifactType, ResearchSource, source_id_from_number
from custody.cite.registry import (
    collect_source_usage,
    iterate_sources,
    plan_source_excerpt,
    plan_source_merge,
    plan_source_reading,
    plan_source_registration,
    plan_source_use,
    suggest_source_merges,
)
from custody.core.errors import InputError
from custody.core.views import Reading

STEPS = st.lists(st.tuples(st.sampled_from("register read use excerpt merge".split()), st.integers(1, 4)), max_size=14)


def happen(catalog: Catalog, n: int, what: str, number: int) -> None:
    """Apply one event to a catalog, if possible."""
    stamp, name = Stamp(id=str(n), at_ns=n), source_id_from_number(number)
    finding: ArtifactType = "finding"
    try:
        events: tuple[RegistryChange, ...] = {
            "register": lambda: plan_source_registration(
                catalog, ResearchSource(title="T", url=f"https://e.org/{number}"), stamp
            )[1],
            "read": lambda: plan_source_reading(catalog, name, Reading.LISTED, "s", stamp, f"c{n % 3}"),
            "use": lambda: plan_source_use(catalog, name, finding, f"f{n % 2}", stamp),
            "excerpt": lambda: plan_source_excerpt(catalog, name, f"words {n % 2} of it", None, stamp),
            "merge": lambda: plan_source_merge(catalog, name, source_id_from_number(1), "the same", stamp),
        }[what]()
    except InputError:
        return
    for event in events:
        apply_source_event(catalog, event)


def shown(catalog: Catalog) -> object:
    """Return everything in a catalog."""
    numbers = [entry.number for entry in catalog.entries()]
    return (
        catalog.last(),
        list(catalog.entries()),
        list(iterate_sources(catalog)),
        [(catalog.readings(n), catalog.excerpts(n), catalog.uses(n)) for n in numbers],
        [
            (
                collect_source_usage(catalog, source_id_from_number(n)),
                suggest_source_merges(catalog, source_id_from_number(n)),
            )
            for n in numbers
        ],
    )


@given(STEPS, STEPS)
def test_a_staged_catalog_equals_one_with_all_events_applied(
    before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> None:
    below, plain = MemoryCatalog(), MemoryCatalog()
    for n, (what, number) in enumerate(before):
        happen(below, n, what, number)
        happen(plain, n, what, number)
    untouched = shown(below)
    staged = StagedCatalog(below)
    for n, (what, number) in enumerate(after, start=len(before)):
        happen(staged, n, what, number)
        happen(plain, n, what, number)
    assert shown(staged) == shown(plain)
    assert shown(below) == untouched


def test_staged_link_checks_hide_stored_ones() -> None:
    below = MemoryCatalog()
    staged = StagedCatalog(below)
    assert staged.check(1) is None
    look = LinkCheck(url="https://e.org/1", answer=LinkAnswer.HERE, why="it answers")
    old, new = LinkMemory(last=look, at_ns=1), LinkMemory(last=look, at_ns=2)
    below.put_check(1, old)
    assert staged.check(1) is old
    staged.put_check(1, new)
    assert staged.check(1) is new
    assert below.check(1) is old
