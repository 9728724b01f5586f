"""A shelf with what is about to happen on top: it shows both, and what is below never changes."""

from hypothesis import given
from hypothesis import strategies as st

from custody.cite.event_fold import apply
from custody.cite.links import LinkAnswer, LinkCheck, LinkMemory
from custody.cite.model import ArtifactType, ResearchSource, id_of
from custody.cite.registry import sources, suggestions_for, to_excerpt, to_merge, to_read, to_register, to_use, usage_of
from custody.cite.shelf import MemoryShelf, RegistryChange, Shelf, StagedShelf, Stamp
from custody.core.errors import InputError
from custody.core.views import Reading

STEPS = st.lists(st.tuples(st.sampled_from("register read use excerpt merge".split()), st.integers(1, 4)), max_size=14)


def happen(shelf: Shelf, n: int, what: str, number: int) -> None:
    """Let one thing happen to a shelf, if it can."""
    stamp, name = Stamp(id=str(n), at_ns=n), id_of(number)
    finding: ArtifactType = "finding"
    try:
        events: tuple[RegistryChange, ...] = {
            "register": lambda: to_register(shelf, ResearchSource(title="T", url=f"https://e.org/{number}"), stamp)[1],
            "read": lambda: to_read(shelf, name, Reading.LISTED, "s", stamp, f"c{n % 3}"),
            "use": lambda: to_use(shelf, name, finding, f"f{n % 2}", stamp),
            "excerpt": lambda: to_excerpt(shelf, name, f"words {n % 2} of it", None, stamp),
            "merge": lambda: to_merge(shelf, name, id_of(1), "the same", stamp),
        }[what]()
    except InputError:
        return
    for event in events:
        apply(shelf, event)


def shown(shelf: Shelf) -> object:
    """Everything that a shelf has to say."""
    numbers = [entry.number for entry in shelf.entries()]
    return (
        shelf.last(),
        list(shelf.entries()),
        list(sources(shelf)),
        [(shelf.readings(n), shelf.excerpts(n), shelf.uses(n)) for n in numbers],
        [(usage_of(shelf, id_of(n)), suggestions_for(shelf, id_of(n))) for n in numbers],
    )


@given(STEPS, STEPS)
def test_a_staged_shelf_is_like_one_on_which_all_of_it_happened(
    before: list[tuple[str, int]], after: list[tuple[str, int]]
) -> None:
    below, plain = MemoryShelf(), MemoryShelf()
    for n, (what, number) in enumerate(before):
        happen(below, n, what, number)
        happen(plain, n, what, number)
    untouched = shown(below)
    staged = StagedShelf(below)
    for n, (what, number) in enumerate(after, start=len(before)):
        happen(staged, n, what, number)
        happen(plain, n, what, number)
    assert shown(staged) == shown(plain)
    assert shown(below) == untouched


def test_what_is_remembered_of_an_address_is_that_of_the_upper_shelf_first() -> None:
    below = MemoryShelf()
    staged = StagedShelf(below)
    assert staged.check(1) is None
    look = LinkCheck(url="https://e.org/1", answer=LinkAnswer.HERE, why="it answers")
    old, new = LinkMemory(last=look, at_ns=1), LinkMemory(last=look, at_ns=2)
    below.put_check(1, old)
    assert staged.check(1) is old
    staged.put_check(1, new)
    assert staged.check(1) is new
    assert below.check(1) is old
