"""Evidence for the gate about duplicates of a change."""

from collections.abc import Iterator

from custody.config import EffectiveRules
from custody.core.errors import InputError, StoreError
from custody.core.paths import Lines
from custody.dupes import DuplicateVerdict
from custody.dupes.app.change_reader import ChangeRef
from custody.dupes.app.check import find_duplicate_matches
from custody.dupes.app.report import escape_change_name
from custody.dupes.app.search import DuplicateMatch
from custody.dupes.app.select import read_change_commits
from custody.gate.app.change import ChangeUnderReview
from custody.gate.model import ChangeSpot, MissingEvidence, SimilarChange
from custody.store import Store

ALOUD = frozenset((DuplicateVerdict.DUPLICATE, DuplicateVerdict.COMPETING))
SHORT_DIGITS = 12


def gather_duplicate_evidence(
    review: ChangeUnderReview, store: Store, effective: EffectiveRules
) -> tuple[SimilarChange, ...] | MissingEvidence:
    """Return the duplicates of a change, or why they could not be checked."""
    change = review.change
    commits = (
        (change.head,) if review.is_work_tree else read_change_commits(review.repository, change.fork, change.head)
    )
    reference = ChangeRef(base=change.fork, head=change.head, commits=commits, onto=change.base)
    try:
        matches = find_duplicate_matches(review.repository, store, reference, effective)
    except (InputError, StoreError) as error:
        return MissingEvidence(
            f"not checked for duplicates: {error.message}", error.hint or "run 'custody dupes index'"
        )
    return tuple(_gate_duplicate_from_match(match) for match in matches if match.decision.verdict in ALOUD)


def _gate_duplicate_from_match(match: DuplicateMatch) -> SimilarChange:
    change, decision = match.candidate.change, match.decision
    name = f"{change.head[:SHORT_DIGITS]} '{escape_change_name(change.title)}'" + (
        " (merged)" if change.on_main else ""
    )
    why = decision.rule if match.candidate.exact else f"{decision.rule} ({decision.probability * 100:.0f} %)"
    spots = tuple(_list_shared_spots(match))
    return SimilarChange(name, decision.verdict, decision.category, why, spots, change.head)


def _list_shared_spots(match: DuplicateMatch) -> Iterator[ChangeSpot]:
    """Yield the lines that both changes share; their files where not every line is listed, none if files are not."""
    overlap = match.overlap
    if isinstance(overlap, str):
        return
    if sum(place.lines for place in overlap.places) < overlap.lines or not overlap.places:
        files = overlap.files
        yield from (ChangeSpot(path) for path in files.some if files.count == len(files.some))
        return
    added = {place.path for place in overlap.places if place.sign == "+"}
    for place in overlap.places:
        if place.sign == "+":
            yield ChangeSpot(place.path, Lines(place.line, place.line + place.lines - 1))
        elif place.path not in added:
            added.add(place.path)
            yield ChangeSpot(place.path)
