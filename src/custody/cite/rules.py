"""The rules of citations that a user can set.

The addresses that may be contacted are not among them, because a repository's own file could loosen them.
"""

from msgspec import Struct

from custody.core.rules import check_rule_range, check_rule_ranges

LINK_SECONDS_MOST = 3600
LINK_PARALLEL_MOST = 100
LINK_GONE_AFTER_MOST = 32


class CiteRules(Struct, frozen=True, kw_only=True):
    """Rules of audits, link checks, contexts and report writing."""

    coverage_min: float = 0.5
    """Minimum share of the sentences with evidence that must be cited."""
    support_chance_min: float = 0.1
    """Minimum support score of a cited text; below it there is a finding."""
    link_read_seconds: float = 10.0
    """Timeout of one request, in seconds."""
    link_total_seconds: float = 30.0
    """Timeout of one URL with its redirects and waiting times, in seconds."""
    link_parallel_max: int = 10
    """Maximum URLs checked at once."""
    link_gone_after: int = 3
    """Failures without a success in between after which a URL is gone."""
    link_gone_spacing_hours: float = 24.0
    """Minimum time between failures that count."""
    link_fresh_days: float = 30.0
    """Age of a check after which it is stale, in days."""
    context_tokens: int = 32_000
    """Token budget of a context, unless the caller passes one."""
    context_bytes_each: float = 1.0
    """Bytes of UTF-8 per token. With 1, no byte-level tokenizer counts more."""
    recent_sources: int = 8
    """Maximum sources shown in full: the highest ranked."""
    full_tokens_max: int = 8_000
    """Maximum tokens of a text that is shown in full."""
    brief_sentences: int = 3
    """Key sentences per text at level 1."""
    retries_max: int = 2
    """Maximum retries of a writer after a failed audit."""
    reruns_max: int = 1
    """Maximum reruns of the research if no answer passed."""

    def __post_init__(self) -> None:
        shares = {"coverage_min": self.coverage_min, "support_chance_min": self.support_chance_min}
        check_rule_ranges("cite", shares, least=0, most=1)
        check_rule_range("cite.brief_sentences", self.brief_sentences, least=1)
        check_rule_ranges("cite", {"retries_max": self.retries_max, "reruns_max": self.reruns_max}, least=0, most=20)
        seconds = {"link_read_seconds": self.link_read_seconds, "link_total_seconds": self.link_total_seconds}
        check_rule_ranges("cite", seconds, above=0, most=LINK_SECONDS_MOST)
        check_rule_range("cite.link_parallel_max", self.link_parallel_max, least=1, most=LINK_PARALLEL_MOST)
        check_rule_range("cite.link_gone_after", self.link_gone_after, least=1, most=LINK_GONE_AFTER_MOST)
        ages = {"link_gone_spacing_hours": self.link_gone_spacing_hours, "link_fresh_days": self.link_fresh_days}
        check_rule_ranges("cite", ages, above=0)
        counts = {
            "context_tokens": self.context_tokens,
            "recent_sources": self.recent_sources,
            "full_tokens_max": self.full_tokens_max,
        }
        check_rule_ranges("cite", counts, least=0)
        check_rule_range("cite.context_bytes_each", self.context_bytes_each, above=0, most=16)
