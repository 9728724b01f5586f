"""The file and lines at which captured calls had a text, whatever its place is now."""

from collections.abc import Sequence

from msgspec import Struct, field

from custody.attribution.app.replay import Lineage
from custody.attribution.model import RecordedPlace
from custody.attribution.packing import unpack_line_origins
from custody.attribution.queries.lineage import StateRow
from custody.attribution.text import line_ranges_from_numbers, make_lineage_key, split_lineage_words


class _CallText(Struct, frozen=True):
    """A state with the positions of the lines that its call wrote, by their keys; ``offset`` is None if unknown."""

    row: StateRow
    positions: dict[int, list[int]]
    offset: int | None


class RecordedPlaces(Struct):
    """The places of captured text; each state is read once."""

    lineage: Lineage
    _texts: dict[int, _CallText | None] = field(default_factory=dict)

    def find(self, state: int, texts: Sequence[str]) -> RecordedPlace | None:
        """Return where the call of ``state`` wrote lines with these texts, or the lines most similar to them."""
        if state not in self._texts:
            self._texts[state] = self._read(state)
        call = self._texts[state]
        if call is None:
            return None
        if call.offset is None:
            return RecordedPlace(call.row.path, ())
        places = self._find_equal_lines(call, texts) or self._find_similar_lines(call, texts)
        numbers = sorted({place + 1 + call.offset for place in places})
        return RecordedPlace(call.row.path, tuple(line_ranges_from_numbers(numbers)))

    def _read(self, state: int) -> _CallText | None:
        rows = self.lineage.tables.states([state])
        if not rows:
            return None
        positions: dict[int, list[int]] = {}
        for place, (key, origin) in enumerate(zip(rows[0].keys, unpack_line_origins(rows[0].origins), strict=True)):
            if origin.state == state:
                positions.setdefault(key, []).append(place)
        return _CallText(rows[0], positions, self.lineage.find_line_offset(rows[0]))

    def _find_equal_lines(self, call: _CallText, texts: Sequence[str]) -> list[int]:
        """Return the positions of the texts, each after the one before it where it occurs again."""
        places: list[int] = []
        for text in texts:
            found = call.positions.get(make_lineage_key(text), ())
            if found:
                last = places[-1] if places else -1
                places.append(next((place for place in found if place > last), found[0]))
        return places

    def _find_similar_lines(self, call: _CallText, texts: Sequence[str]) -> list[int]:
        """Return the position of the line with most words of each text."""
        lines = self.lineage.text_of_state(call.row)
        own = sorted(place for places in call.positions.values() for place in places if place < len(lines))
        words = {place: set(split_lineage_words(lines[place])) for place in own}
        places = []
        for text in texts:
            wanted = set(split_lineage_words(text))
            best = max(own, key=lambda place: (len(words[place] & wanted), -place), default=None)
            if best is not None and words[best] & wanted:
                places.append(best)
        return places
