"""Every number of citing that a user may set.

Which addresses may be asked is no number and stands in no rules: a repository's own file could loosen it.
"""

from dataclasses import dataclass

from custody.core.rules import check_range, check_ranges

LINK_SECONDS_MOST = 3600
LINK_HOLD_HOURS_MOST = 24 * 366
LINK_PARALLEL_MOST = 100
LINK_REDIRECTS_MOST = 20
LINK_BYTES_LEAST = 4096
LINK_BYTES_MOST = 16 * 1024 * 1024
LINK_COUNT_MOST = 32


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
    link_connect_seconds: float = 10.0
    """So long a connection may take to come about, with its encryption."""
    link_read_seconds: float = 10.0
    """So long a server may be silent."""
    link_total_seconds: float = 30.0
    """So long one address may take with everything it leads to; waiting that its server asked for counts too."""
    link_parallel_max: int = 10
    """So many addresses are asked at once."""
    link_redirects_max: int = 5
    """So many redirects are followed from one address."""
    link_bytes_max: int = 65_536
    """So many bytes are read of one answer, its header included."""
    link_failures_max: int = 3
    """After so many failures one after the other a host is not asked any more."""
    link_cool_down_seconds: float = 60.0
    """After this time such a host is tried once more."""
    link_wait_seconds_max: float = 10.0
    """A server that asks for no more patience than this is waited for."""
    link_hold_hours_max: float = 24.0
    """A server that asks for more patience than this is left alone for this long."""
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
    brief_sentence_signs: int = 300
    """A key sentence is cut behind so many characters."""
    access_decay: float = 0.9
    """What an access weighs of the one after it."""
    objective_weight: float = 4.0
    """What it counts for a source to speak of an objective, beside the three below."""
    access_weight: float = 2.0
    """What it counts to have been accessed often and lately."""
    use_weight: float = 1.0
    """What it counts that something rests on a source."""
    score_weight: float = 1.0
    """What a source's own scores count."""
    retries_max: int = 2
    """How often a writer is asked again when what it wrote does not pass the audit."""
    reruns_max: int = 1
    """How often research is run again when no answer passed."""
    answer_bytes_max: int = 2_097_152
    """A longer answer of a writer is not looked at: it is no report."""

    def __post_init__(self) -> None:
        check_range("cite.coverage_min", self.coverage_min, least=0, most=1)
        check_range("cite.support_chance_min", self.support_chance_min, least=0, most=1)
        sizes = {"sentence_words_min": self.sentence_words_min, "sentence_signs_min": self.sentence_signs_min}
        check_ranges("cite", {**sizes, "answer_bytes_max": self.answer_bytes_max}, least=1)
        check_ranges("cite", {"retries_max": self.retries_max, "reruns_max": self.reruns_max}, least=0, most=20)
        self._check_links()
        self._check_context()

    def _check_links(self) -> None:
        seconds = {
            "link_connect_seconds": self.link_connect_seconds,
            "link_read_seconds": self.link_read_seconds,
            "link_total_seconds": self.link_total_seconds,
            "link_cool_down_seconds": self.link_cool_down_seconds,
        }
        check_ranges("cite", seconds, above=0, most=LINK_SECONDS_MOST)
        check_range("cite.link_wait_seconds_max", self.link_wait_seconds_max, least=0, most=LINK_SECONDS_MOST)
        check_range("cite.link_hold_hours_max", self.link_hold_hours_max, least=0, most=LINK_HOLD_HOURS_MOST)
        check_range("cite.link_parallel_max", self.link_parallel_max, least=1, most=LINK_PARALLEL_MOST)
        check_range("cite.link_redirects_max", self.link_redirects_max, least=0, most=LINK_REDIRECTS_MOST)
        check_range("cite.link_bytes_max", self.link_bytes_max, least=LINK_BYTES_LEAST, most=LINK_BYTES_MOST)
        counts = {"link_failures_max": self.link_failures_max, "link_gone_after": self.link_gone_after}
        check_ranges("cite", counts, least=1, most=LINK_COUNT_MOST)
        ages = {"link_gone_spacing_hours": self.link_gone_spacing_hours, "link_fresh_days": self.link_fresh_days}
        check_ranges("cite", ages, above=0)

    def _check_context(self) -> None:
        counts = {
            "context_tokens": self.context_tokens,
            "recent_sources": self.recent_sources,
            "full_tokens_max": self.full_tokens_max,
        }
        check_ranges("cite", counts, least=0)
        shown = {"brief_sentences": self.brief_sentences, "brief_sentence_signs": self.brief_sentence_signs}
        check_ranges("cite", shown, least=1)
        check_range("cite.context_bytes_each", self.context_bytes_each, above=0, most=16)
        check_range("cite.access_decay", self.access_decay, least=0, most=1)
        weights = {
            "objective_weight": self.objective_weight,
            "access_weight": self.access_weight,
            "use_weight": self.use_weight,
            "score_weight": self.score_weight,
        }
        check_ranges("cite", weights, least=0, most=1000)
