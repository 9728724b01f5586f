"""Every number of citing that a user may set.

Which addresses may be asked is no number and stands in no rules: a repository's own file could loosen it.
"""

from dataclasses import dataclass

from custody.core.rules import check_range, check_ranges

LINK_SECONDS_MOST = 3600
LINK_PARALLEL_MOST = 100
LINK_GONE_AFTER_MOST = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class CiteRules:
    """How well a report has to be cited, when a text is taken to speak of a statement, what agents see of sources."""

    coverage_min: float = 0.5
    """The least share of the sentences with evidence that has a citation."""
    sentence_words_min: int = 4
    """A shorter sentence carries no evidence, unless it is cited."""
    sentence_signs_min: int = 8
    """The same for Chinese and Japanese, in characters."""
    support_chance_min: float = 0.1
    """Below this chance that the cited text speaks of the statement, the audit says so."""
    link_read_seconds: float = 10.0
    """So long a server may be silent."""
    link_total_seconds: float = 30.0
    """So long one address may take with everything it leads to; waiting that its server asked for counts too."""
    link_parallel_max: int = 10
    """So many addresses are asked at once."""
    link_gone_after: int = 3
    """An address is gone after so many failures without an answer between them."""
    link_gone_spacing_hours: float = 24.0
    """Failures count once in this time."""
    link_fresh_days: float = 30.0
    """What was found out longer ago is stale."""
    context_tokens: int = 32_000
    """How many tokens the context of an agent's prompt may take, unless the caller says."""
    context_bytes_each: float = 1.0
    """For so many bytes of UTF-8 a token is counted. With 1, no tokeniser that works on bytes counts more."""
    recent_sources: int = 8
    """So many sources at most are shown in full: those that stand highest."""
    full_tokens_max: int = 8_000
    """A text of more tokens is shown by its key sentences at best."""
    brief_sentences: int = 3
    """So many sentences stand for a text at level 1."""
    retries_max: int = 2
    """How often a writer is asked again when what it wrote does not pass the audit."""
    reruns_max: int = 1
    """How often research is run again when no answer passed."""

    def __post_init__(self) -> None:
        shares = {"coverage_min": self.coverage_min, "support_chance_min": self.support_chance_min}
        check_ranges("cite", shares, least=0, most=1)
        sizes = {
            "sentence_words_min": self.sentence_words_min,
            "sentence_signs_min": self.sentence_signs_min,
            "brief_sentences": self.brief_sentences,
        }
        check_ranges("cite", sizes, least=1)
        check_ranges("cite", {"retries_max": self.retries_max, "reruns_max": self.reruns_max}, least=0, most=20)
        seconds = {"link_read_seconds": self.link_read_seconds, "link_total_seconds": self.link_total_seconds}
        check_ranges("cite", seconds, above=0, most=LINK_SECONDS_MOST)
        check_range("cite.link_parallel_max", self.link_parallel_max, least=1, most=LINK_PARALLEL_MOST)
        check_range("cite.link_gone_after", self.link_gone_after, least=1, most=LINK_GONE_AFTER_MOST)
        ages = {"link_gone_spacing_hours": self.link_gone_spacing_hours, "link_fresh_days": self.link_fresh_days}
        check_ranges("cite", ages, above=0)
        counts = {
            "context_tokens": self.context_tokens,
            "recent_sources": self.recent_sources,
            "full_tokens_max": self.full_tokens_max,
        }
        check_ranges("cite", counts, least=0)
        check_range("cite.context_bytes_each", self.context_bytes_each, above=0, most=16)
