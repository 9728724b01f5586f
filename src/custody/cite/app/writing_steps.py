"""What ``custody.writer`` uses of citations: the steps from a tool's answer to a report, all of them pure."""

from custody.cite.assembly import assembled, named_ids
from custody.cite.draft_loop import DraftLoop, best_of
from custody.cite.hits import is_hit

__all__ = ["DraftLoop", "assembled", "best_of", "is_hit", "named_ids"]
