"""What git tells about a change and those it is like: which has landed, which is below which, which was taken back."""

from collections.abc import Sequence

from custody.dupes.app.change_reader import ChangeRef
from custody.dupes.app.search import ChangeMatch
from custody.dupes.relations import GitRelations
from custody.git import Ancestry, Repository


def arounds(repository: Repository, asked: ChangeRef, likes: Sequence[ChangeMatch]) -> list[GitRelations]:
    """One answer for each of ``likes``, by one walk through history."""
    pairs = {
        Ancestry(like.change.head, descendant)
        for like in likes
        for descendant in (asked.base, asked.head, asked.onto)
        if descendant and like.change.head != descendant
    }
    true = repository.ancestries(pairs) if pairs else frozenset()
    return [
        GitRelations(
            other_on_main=like.change.on_main,
            other_below_base=Ancestry(like.change.head, asked.base) in true or like.change.head == asked.base,
            other_on_its_line=Ancestry(like.change.head, asked.onto) in true or like.change.head == asked.onto,
            other_in_branch=Ancestry(like.change.head, asked.head) in true,
            takes_back=like.takes_back,
            taken_back=_taken_back(like, likes),
        )
        for like in likes
    ]


def _taken_back(like: ChangeMatch, likes: Sequence[ChangeMatch]) -> bool:
    """Whether a change found beside it names its commits as reverted: a revert is always like what it undoes."""
    return any(
        other.change.opened_ns >= like.change.opened_ns and bool(other.signature.reverted & like.signature.commits)
        for other in likes
        if other is not like
    )
