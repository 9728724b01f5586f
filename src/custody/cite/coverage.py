"""How much of what a report says is cited: cited sentences among those that carry evidence."""

from dataclasses import dataclass

from custody.cite.document import TextPlace
from custody.cite.evidence import carries_evidence
from custody.cite.prose import sentences
from custody.cite.rules import CiteRules
from custody.cite.subject import AuditSubject


@dataclass(frozen=True, slots=True)
class Coverage:
    """So many of so many sentences are cited; ``missing`` are the places of the others.

    What is cited carries evidence: its author thought so.
    """

    cited: int
    total: int
    missing: tuple[TextPlace, ...]

    @property
    def ratio(self) -> float:
        """The share that is cited; 1 where there is nothing to cite.

        >>> Coverage(3, 4, (TextPlace(7, 1),)).ratio, Coverage(0, 0, ()).ratio
        (0.75, 1.0)
        """
        return self.cited / self.total if self.total else 1.0


def coverage_of(subject: AuditSubject, rules: CiteRules) -> Coverage:
    """The coverage of a report."""
    cited = 0
    missing: list[int] = []
    for sentence in sentences(subject):
        if sentence.cited:
            cited += 1
        elif carries_evidence(sentence.text, rules):
            missing.append(sentence.at)
    places = tuple(subject.layout.place(at) for at in missing)
    return Coverage(cited, cited + len(missing), places)
