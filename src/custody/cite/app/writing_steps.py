"""What ``custody.writer`` uses of citations: the steps from a tool's answer to a report, all of them pure."""

from custody.cite.drafts import DraftLoop, best_of
from custody.cite.hits import is_hit
from custody.cite.results import assembled, named_ids

__all__ = ["DraftLoop", "assembled", "best_of", "is_hit", "named_ids"]
