"""Relations of a change to an earlier change, by what git, messages and titles tell."""

from custody.dupes.model import Category, PairScore, Relation, Signature
from custody.dupes.relations import GitRelations, relations
from custody.dupes.rules import DedupeRules
from custody.dupes.score import SIGNALS

COMMIT = 7
PLAIN, OTHER = Signature(), Signature(commits=frozenset({COMMIT}))
PICKED, REVERTS = Signature(picked=frozenset({COMMIT})), Signature(reverted=frozenset({COMMIT}))
NO_GIT = GitRelations()


def found(
    around: GitRelations = NO_GIT, *, this: Signature = PLAIN, title: str = "Fix it", same: bool = True
) -> list[tuple[Relation, str]]:
    category = Category.SAME_CHANGE if same else Category.RELATED
    scored = PairScore(dict.fromkeys(SIGNALS), 0.0, 0.0, category, "a rule")
    return list(relations(title, this, OTHER, scored, around, DedupeRules()))


def test_nothing_told_is_no_relation() -> None:
    assert found() == found(same=False) == []


def test_git_tells_the_relation_of_the_same_change() -> None:
    for around, relation, why in [
        (GitRelations(other_below_base=True), Relation.ALREADY_ON_MAIN, "the other one is below its base"),
        (
            GitRelations(other_on_its_line=True),
            Relation.ALREADY_ON_MAIN,
            "the other one has landed there since its base",
        ),
        (GitRelations(other_on_main=True), Relation.BACKPORT_OF, "the other one has landed on another line"),
        (GitRelations(taken_back=True), Relation.RELAND_OF, "the other one was taken back since"),
    ]:
        assert found(around) == [(relation, why)]
        assert found(around, same=False) == []


def test_stacks_and_reverts_need_not_be_the_same_change() -> None:
    for same in (True, False):
        assert found(GitRelations(other_in_branch=True), same=same) == [
            (Relation.STACKED_ON, "the other one's head is one of its commits")
        ]
        assert found(GitRelations(takes_back=True), same=same) == [
            (Relation.REVERT_OF, "its diff is the other one's, backwards")
        ]
    assert found(GitRelations(other_in_branch=True, other_below_base=True), same=False) == []


def test_messages_and_titles_tell_relations() -> None:
    named = "its message names the other one's commit"
    assert found(this=PICKED, same=False) == [(Relation.BACKPORT_OF, named)]
    assert found(GitRelations(taken_back=True), this=PICKED) == [(Relation.BACKPORT_OF, named)]
    assert found(this=REVERTS, same=False) == [(Relation.REVERT_OF, named)]
    assert found(this=REVERTS, title='Revert "Fix it"', same=False) == [(Relation.REVERT_OF, f"{named} and its title")]
    assert found(title='Reland "Fix it"') == [(Relation.RELAND_OF, "its title says so")]
