"""Every number of citing that a user may set."""

from dataclasses import dataclass

from custody.model.rules import check_range, check_ranges


@dataclass(frozen=True, slots=True, kw_only=True)
class CiteRules:
    """How well a report has to be cited, and from when on a text is taken to speak of a statement."""

    coverage_min: float = 0.5
    """The least share of the sentences with evidence that has a citation."""
    sentence_words_min: int = 4
    """A shorter sentence carries no evidence, unless it is cited."""
    sentence_signs_min: int = 8
    """The same for Chinese and Japanese, in characters."""
    support_chance_min: float = 0.1
    """Below this chance that the cited text speaks of the statement, the audit says so."""

    def __post_init__(self) -> None:
        check_range("cite.coverage_min", self.coverage_min, least=0, most=1)
        check_range("cite.support_chance_min", self.support_chance_min, least=0, most=1)
        sizes = {"sentence_words_min": self.sentence_words_min, "sentence_signs_min": self.sentence_signs_min}
        check_ranges("cite", sizes, least=1)
