"""Relations of two changes, by git, content, messages and titles; from both sides."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.ids import CommitSha
from custody.dupes.model import Relation, Signature
from custody.dupes.relations import ChangePair, HistoryFacts, RelatedChange, find_change_relations
from custody.dupes.rules import DedupeRules
from custody.sketch.hashing import make_bottom_sketch

RULES = DedupeRules()
COMMIT = 7
OLD = RelatedChange(
    head=CommitSha("a" * 40),
    title="Retry step 3",
    author="Ana",
    opened_ns=1_000,
    on_main=False,
    signature=Signature(commits=frozenset({COMMIT}), whole_hash=1, inverse_hash=-1),
    target="main",
)
NEW = RelatedChange(
    head=CommitSha("b" * 40),
    title="Fix it",
    author="Ben",
    opened_ns=2_000,
    on_main=False,
    signature=Signature(whole_hash=2, inverse_hash=-2),
    target="main",
)
MERGED = replace(OLD, on_main=True)
SAME = ChangePair(this=NEW, other=OLD, is_same=True)


def names(pair: ChangePair) -> list[str]:
    return [relation.value for relation, _ in find_change_relations(pair, RULES)]


def signed(change: RelatedChange, **values: object) -> RelatedChange:
    return replace(change, signature=replace(change.signature, **values))


def test_no_evidence_gives_no_relation() -> None:
    assert names(SAME) == names(replace(SAME, is_same=False)) == []


def test_the_same_change_by_others_on_the_same_branch_has_no_relation() -> None:
    assert names(replace(SAME, other=MERGED)) == []
    assert names(replace(SAME, other=MERGED, this_facts=HistoryFacts(is_after_other=True, target_has_other=True))) == []


def test_a_change_with_the_head_of_another_is_stacked_on_it_or_its_merge() -> None:
    contains = replace(SAME, is_same=False, this_facts=HistoryFacts(has_other=True))
    assert names(contains) == ["stacked on"]
    assert names(contains.reverse()) == ["base of"]
    merge = replace(contains, this=replace(NEW, on_main=True))
    assert names(merge) == ["merge of"]
    assert names(merge.reverse()) == ["already merged as"]


def test_a_squashed_commit_is_the_merge_of_its_branch() -> None:
    squash = replace(NEW, on_main=True)
    assert names(replace(SAME, this=squash)) == []
    assert names(replace(SAME, this=replace(squash, author="ANA"))) == ["merge of"]
    assert names(replace(SAME, this=replace(squash, author="ANA", opened_ns=1))) == []
    numbered = ChangePair(this=replace(squash, title="Retry (#12)"), other=replace(OLD, numbers=frozenset({"12"})))
    assert names(numbered) == ["merge of"]
    assert names(replace(numbered, this=replace(squash, title="Fix #12, not that"))) == []


def test_of_two_inverse_changes_the_later_one_is_the_revert() -> None:
    inverse = signed(NEW, whole_hash=-1, inverse_hash=1)
    assert names(ChangePair(this=inverse, other=OLD)) == ["revert of"]
    assert names(ChangePair(this=OLD, other=inverse)) == ["reverted by"]
    late = replace(OLD, opened_ns=9_000)
    assert names(ChangePair(this=inverse, other=late)) == ["reverted by"]
    assert names(ChangePair(this=inverse, other=late, this_facts=HistoryFacts(is_after_other=True))) == ["revert of"]
    named = signed(NEW, reverted=frozenset({COMMIT}))
    assert names(ChangePair(this=named, other=OLD)) == ["revert of"]


def test_the_same_change_after_a_revert_is_a_reland() -> None:
    assert names(replace(SAME, other=replace(MERGED, was_reverted=True))) == ["reland of"]
    assert names(replace(SAME, other=replace(MERGED, was_reverted=True)).reverse()) == ["relanded as"]
    titled = replace(NEW, title='Reland "Retry step 3"')
    assert names(replace(SAME, this=titled, other=MERGED)) == ["reland of"]
    assert names(replace(SAME, this=titled)) == []


def test_the_same_change_for_another_branch_is_a_backport() -> None:
    release = replace(NEW, target="release/1.0", is_trunk=False)
    assert names(replace(SAME, this=release, other=MERGED)) == ["backport of"]
    assert names(replace(SAME, this=release, other=MERGED).reverse()) == ["backported as"]
    assert names(replace(SAME, this=release, other=replace(OLD, target=""))) == []
    has_it = HistoryFacts(target_has_other=True)
    assert names(replace(SAME, this=release, other=MERGED, this_facts=has_it)) == []


def test_a_named_commit_makes_a_backport_only_where_the_target_lacks_it() -> None:
    named = signed(NEW, picked=frozenset({COMMIT}))
    assert names(ChangePair(this=named, other=MERGED)) == ["backport of"]
    assert names(ChangePair(this=named, other=OLD)) == []
    assert names(ChangePair(this=named, other=MERGED, this_facts=HistoryFacts(target_has_other=True))) == []


def test_a_part_has_its_lines_in_a_clearly_larger_change() -> None:
    def lined(change: RelatedChange, count: int) -> RelatedChange:
        return signed(change, lines=make_bottom_sketch(range(1, count + 1), 32))

    assert names(ChangePair(this=lined(NEW, 30), other=lined(OLD, 10))) == ["superset of"]
    assert names(ChangePair(this=lined(OLD, 10), other=lined(NEW, 30))) == ["subset of"]
    assert names(ChangePair(this=lined(NEW, 12), other=lined(OLD, 10))) == []


def test_a_series_has_one_author_and_title_and_no_common_file() -> None:
    def filed(change: RelatedChange, *files: int) -> RelatedChange:
        return signed(replace(change, author="Ana", title="Bump it"), files=make_bottom_sketch(files, 16))

    assert names(ChangePair(this=filed(NEW, 1), other=filed(OLD, 2, 3))) == ["in a series with"]
    assert names(ChangePair(this=filed(NEW, 1), other=filed(OLD, 1, 3))) == []
    assert names(ChangePair(this=filed(NEW, 1), other=replace(filed(OLD, 2), author="Ben"))) == []


def test_an_author_replaces_a_change_that_was_closed() -> None:
    closed = replace(OLD, is_closed=True)
    assert names(replace(SAME, this=replace(NEW, author="Ana"), other=closed)) == ["replaces"]
    assert names(replace(SAME, other=closed)) == []


def test_branches_with_a_common_commit_share_it() -> None:
    assert names(ChangePair(this=signed(NEW, commits=frozenset({COMMIT})), other=OLD)) == ["shares commits with"]


def test_a_rewritten_commit_is_known_by_its_origin() -> None:
    this, other = (signed(change, origins=frozenset({5}), commits=frozenset()) for change in (NEW, OLD))
    assert names(ChangePair(this=this, other=other)) == ["shares commits with"]
    assert names(ChangePair(this=signed(this, whole_hash=1), other=other, is_same=True)) == []
    assert names(ChangePair(this=replace(this, on_main=True), other=other)) == ["merge of"]
    release = replace(this, target="1.x", is_trunk=False)
    assert names(ChangePair(this=release, other=replace(other, on_main=True))) == ["backport of"]


facts = st.builds(HistoryFacts, has_other=st.booleans(), is_after_other=st.booleans(), target_has_other=st.booleans())
few = st.frozensets(st.integers(1, 4), max_size=2)
changes = st.builds(
    RelatedChange,
    head=st.sampled_from(["a" * 40, "b" * 40, "c" * 40]).map(CommitSha),
    title=st.sampled_from(["Retry (#1)", "Reland it", "Retry"]),
    author=st.sampled_from(["", "Ana", "Ben"]),
    opened_ns=st.integers(0, 3),
    on_main=st.booleans(),
    signature=st.builds(
        Signature,
        whole_hash=st.none() | st.integers(-2, 2),
        inverse_hash=st.none() | st.integers(-2, 2),
        lines=st.integers(0, 20).map(lambda count: make_bottom_sketch(range(1, count + 1), 16)),
        files=few.map(lambda values: make_bottom_sketch(values, 16)),
        commits=few,
        picked=few,
        reverted=few,
        origins=few,
    ),
    numbers=st.sampled_from([frozenset(), frozenset({"1"})]),
    target=st.sampled_from(["", "main", "1.x"]),
    is_trunk=st.booleans(),
    is_closed=st.booleans(),
    merged=st.sampled_from(["", "a" * 40]),
    was_reverted=st.booleans(),
)
pairs = st.builds(ChangePair, this=changes, other=changes, this_facts=facts, other_facts=facts, is_same=st.booleans())


@given(pairs)
def test_both_sides_have_the_same_relations_by_their_reverse_names(pair: ChangePair) -> None:
    there = {relation for relation, _ in find_change_relations(pair, RULES)}
    back = {relation for relation, _ in find_change_relations(pair.reverse(), RULES)}
    assert {relation.reverse for relation in there} == back


def test_a_relation_is_the_reverse_of_its_reverse() -> None:
    assert all(relation.reverse.reverse is relation for relation in Relation)
