"""Which listed source a label means; this file is the only one that decides it."""

from collections.abc import Iterable

from custody.cite.document import Label, LabelKind, ListEntry

_OTHER = {LabelKind.ID: LabelKind.NUMBER, LabelKind.NUMBER: LabelKind.ID}


class LabelIndex:
    """Listed sources by their labels.

    A label means the source that is listed under it. ``[S3]`` may also mean the source listed as 3, and ``[3]`` the
    one listed as S3, where the list has no other; a footnote is only ever meant by a footnote's reference. Of several
    sources under one label the first that has an address is meant.
    """

    def __init__(self, entries: Iterable[ListEntry]) -> None:
        self._by_label: dict[Label, ListEntry] = {}
        kinds = set()
        for entry in entries:
            if entry.label is not None:
                known = self._by_label.setdefault(entry.label, entry)
                if known.url is None and entry.url is not None:
                    self._by_label[entry.label] = entry
                kinds.add(entry.label.kind)
        self._found: dict[Label, ListEntry | None] = {}
        self.has_labels = bool(kinds)
        self.has_numbers = LabelKind.NUMBER in kinds or LabelKind.ID in kinds

    def find(self, label: Label) -> ListEntry | None:
        """The source that ``label`` means, if it is listed."""
        if label in self._found:
            return self._found[label]
        entry = self._by_label.get(label)
        if entry is None and (other := _OTHER.get(label.kind)) is not None:
            entry = self._by_label.get(Label(other, label.name))
        self._found[label] = entry
        return entry
