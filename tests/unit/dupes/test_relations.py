"""Relations of a change to another, by git, messages and titles."""

from custody.dupes.model import Category, PairScore, Relation, Signature
from custody.dupes.relations import GitRelations, find_change_relations
from custody.dupes.rules import DedupeRules
from custody.dupes.score import SIGNALS

COMMIT = 7
PLAIN, OTHER = Signature(), Signature(commits=frozenset({COMMIT}))
PICKED, REVERTS = Signature(picked=frozenset({COMMIT})), Signature(reverted=frozenset({COMMIT}))
NO_GIT = GitRelations()


def find_relations(
    git: GitRelations = NO_GIT, *, this: Signature = PLAIN, title: str = "Fix it", same: bool = True
) -> list[tuple[Relation, str]]:
    category = Category.SAME_CHANGE if same else Category.RELATED
    score = PairScore(dict.fromkeys(SIGNALS), 0.0, 0.0, category, "a rule")
    return list(find_change_relations(title, this, OTHER, score, git, DedupeRules()))


def test_no_evidence_gives_no_relation() -> None:
    assert find_relations() == find_relations(same=False) == []


def test_git_decides_the_relation_of_the_same_change() -> None:
    for git, relation, why in [
        (GitRelations(other_below_base=True), Relation.ALREADY_ON_MAIN, "the other is an ancestor of its base"),
        (
            GitRelations(other_on_target=True),
            Relation.ALREADY_ON_MAIN,
            "the other was merged there after its base",
        ),
        (GitRelations(other_on_main=True), Relation.BACKPORT_OF, "the other is merged on another branch"),
        (GitRelations(other_reverted=True), Relation.RELAND_OF, "the other was reverted since"),
    ]:
        assert find_relations(git) == [(relation, why)]
        assert find_relations(git, same=False) == []


def test_stacks_and_reverts_need_not_be_the_same_change() -> None:
    for same in (True, False):
        assert find_relations(GitRelations(other_in_branch=True), same=same) == [
            (Relation.STACKED_ON, "its commits include the head of the other")
        ]
        assert find_relations(GitRelations(reverts_other=True), same=same) == [
            (Relation.REVERT_OF, "its diff is the inverse of the other")
        ]
    assert find_relations(GitRelations(other_in_branch=True, other_below_base=True), same=False) == []


def test_messages_and_titles_show_relations() -> None:
    named = "its message names a commit of the other"
    assert find_relations(this=PICKED, same=False) == [(Relation.BACKPORT_OF, named)]
    assert find_relations(GitRelations(other_reverted=True), this=PICKED) == [(Relation.BACKPORT_OF, named)]
    assert find_relations(this=REVERTS, same=False) == [(Relation.REVERT_OF, named)]
    assert find_relations(this=REVERTS, title='Revert "Fix it"', same=False) == [
        (Relation.REVERT_OF, f"{named}, its title says so")
    ]
    assert find_relations(title='Reland "Fix it"') == [(Relation.RELAND_OF, "its title says so")]
