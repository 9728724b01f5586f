"""Strategies of hypothesis: texts, JSON values and chains, with frequent edge cases."""

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from custody.core.ids import Digest, EventId, NaturalKey, StoreId
from custody.core.record import Record, RecordDraft, chain_tip_from_record, empty_chain_tip, record_from_draft
from custody.core.wire.canonical import Json

STORE = StoreId("5" * 32)
NS_MAX = 2**63 - 1
MARKS = ("$body", "$erased", "$literal")

_ODD_CHARACTERS = '\0\x1f\n\r\t"\\/\x7f\x85é€\u2028😀\ud800\udbff\udc00\udc80\udcff\udfff'
_EDGE_FLOATS = (0.0, -0.0, 1e308, -1.7976931348623157e308, 5e-324, -2.2250738585072014e-308, 0.1, 1e16, 1e22)
_EDGE_INTEGERS = (2**53 + 1, 2**63, -(2**64), 10**307, -(10**308) + 1)


def as_read(text: str) -> str:
    """Return ``text`` as a JSON reader would: two adjacent surrogates become one character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def of_size(character: str, size: int) -> str:
    """Return a text of exactly ``size`` bytes, mostly of ``character``."""
    width = len(character.encode("utf-8", "surrogatepass"))
    return character * (size // width) + "a" * (size % width)


texts = (st.text(max_size=20) | st.text(st.sampled_from(_ODD_CHARACTERS), max_size=8)).map(as_read)
"""Any text that JSON can carry, lone surrogates too."""

names = st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=20)
"""Any name: no control characters, no surrogates."""

awkward_names = st.text(st.sampled_from(":%/ ae\\é~"), min_size=1, max_size=6)
"""Names made of the characters in keys, so that two of them are often similar."""

moments_ns = st.integers(-NS_MAX, NS_MAX) | st.sampled_from((0, -1, 1, NS_MAX, -NS_MAX, 999_999_999, -1_000_000_000))

long_texts = st.builds(of_size, st.sampled_from("aé€😀\udcff"), st.integers(4094, 4099))
"""Texts near the size from which they are stored separately, of characters of one to four bytes."""

scalars: SearchStrategy[Json] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from(_EDGE_INTEGERS),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(_EDGE_FLOATS),
    texts,
)


def _around(inner: SearchStrategy[Json]) -> SearchStrategy[Json]:
    lists: SearchStrategy[Json] = st.lists(inner, max_size=4).map(list)
    objects: SearchStrategy[Json] = st.dictionaries(texts, inner, max_size=4).map(dict)
    return lists | objects


def _around_with_marks(inner: SearchStrategy[Json]) -> SearchStrategy[Json]:
    marked: SearchStrategy[Json] = st.builds(lambda mark, item: {mark: item}, st.sampled_from(MARKS), inner)
    nearly: SearchStrategy[Json] = st.builds(lambda mark, item: {mark: item, "": 0}, st.sampled_from(MARKS), inner)
    return _around(inner) | marked | nearly


json_values: SearchStrategy[Json] = st.recursive(scalars, _around, max_leaves=15)
"""Any JSON value."""

marked_values: SearchStrategy[Json] = st.recursive(scalars | long_texts, _around_with_marks, max_leaves=10)
"""JSON values with texts long enough to be stored separately, and values that look like their placeholders."""

json_objects: SearchStrategy[dict[str, Json]] = st.dictionaries(texts, json_values, max_size=4)

_LABELS = ("a", "a:", ":a", "é")
_MOMENTS = (0, -1, 10, NS_MAX)


def _entry(number: int) -> RecordDraft:
    """Return one of the 1,024 entries with four values per field."""
    event, kind, key, at, digest = (number >> shift & 3 for shift in (0, 2, 4, 6, 8))
    return RecordDraft(
        EventId(_LABELS[event]), _LABELS[kind], NaturalKey(_LABELS[key]), _MOMENTS[at], Digest(bytes([digest] * 32))
    )


entries = st.integers(0, 1023).map(_entry)
"""Entries that are quick to draw, and often equal in a field or two."""


def chain_of(made: Sequence[RecordDraft], store: StoreId = STORE) -> list[Record]:
    """Make a valid chain of these entries."""
    head, records = empty_chain_tip(store), []
    for entry in made:
        records.append(record_from_draft(head, entry))
        head = chain_tip_from_record(records[-1])
    return records


def chains(*, min_size: int = 1, max_size: int = 7) -> SearchStrategy[list[Record]]:
    """Valid chains."""
    return st.lists(entries, min_size=min_size, max_size=max_size).map(chain_of)


def turned(value: dict[str, Json], by: int) -> dict[str, Json]:
    """Return the same object with its keys in another order."""
    items = list(value.items())
    return dict([*items[by:], *reversed(items[:by])])


def exactly(value: Json) -> object:
    """Return ``value`` in a form where 1, 1.0 and true differ, as do 0.0 and -0.0, and key order is ignored."""
    if isinstance(value, dict):
        return {key: exactly(item) for key, item in value.items()}
    if isinstance(value, list):
        return [exactly(item) for item in value]
    return (type(value).__name__, repr(value))
