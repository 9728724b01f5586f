import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from custody.core.errors import StoreError
from custody.core.ids import CommitSha
from custody.dupes.facts.model import Channel
from custody.dupes.facts.touched_facts import TouchedFacts
from custody.dupes.model import ChangeDescription, Signature
from custody.dupes.packing import pack_signature, unpack_signature
from custody.dupes.rules import DedupeRules
from custody.dupes.score import measure_similarities
from custody.dupes.signature import sketch_change
from custody.sketch.hashing import BottomSketch, make_bottom_sketch
from tests.unit.dupes.changes import a_described, a_piece, some_code

RULES = DedupeRules()


def sketch(change: ChangeDescription) -> Signature:
    return sketch_change(change, RULES).signature


# Conformance: 002-029, 002-032
def test_a_change_is_identical_to_itself() -> None:
    change = replace(
        a_described(
            a_piece("src/a.ts", some_code(9), after=TouchedFacts(symbols=frozenset({"f"}), exports=frozenset({"f"}))),
            a_piece(
                "src/a.test.ts", ["it('adds', () => {})"], channel=Channel.TESTS, after=TouchedFacts(tests=("adds",))
            ),
        ),
        title="Add f",
        messages=("Add f\n\nFixes #12",),
    )
    found = measure_similarities(sketch(change), sketch(change))
    assert {name: value for name, value in found.items() if value is not None} == {
        name: 1.0
        for name in (
            *("prod_diff_exact", "prod_minhash_sim", "prod_files_sim", "prod_symbols_sim", "prod_exports_sim"),
            *("tests_intent_sim", "lines_sim", "lines_contained", "identifiers_sim", "identifiers_contained"),
            *("context_sim", "files_sim", "size_ratio", "words_sim", "references_sim"),
        )
    }


# Conformance: 002-016
def test_version_bumps_are_equal_masked_and_different_literally() -> None:
    one, other = (a_described(a_piece("setup.py", [f"version = '{n}.0.1'"])) for n in (1, 2))
    found = measure_similarities(sketch(one), sketch(other))
    assert (found["prod_minhash_sim"], found["lines_sim"]) == (1.0, 0.0)


# Conformance: 002-014
def test_removed_and_added_lines_differ() -> None:
    code = some_code(5)
    found = measure_similarities(sketch(a_described(a_piece(added=code))), sketch(a_described(a_piece(removed=code))))
    assert (found["prod_minhash_sim"], found["lines_sim"], found["identifiers_sim"]) == (0.0, 0.0, 1.0)


# Conformance: 002-035
def test_meta_and_generated_files_are_not_compared() -> None:
    for channel in (Channel.META, Channel.GENERATED):
        found = sketch_change(a_described(a_piece("a.lock", some_code(5), channel=channel)), RULES)
        hashes = {name: getattr(found.signature, name) for name in ("whole_hash", "inverse_hash")}
        assert found.signature == replace(Signature(), **hashes)
        assert not found.terms


def test_named_commits_are_separate_from_own_commits() -> None:
    change = replace(
        a_described(a_piece(added=["x = compute()"])),
        title="Fix it",
        messages=("Fix it\n\n(cherry picked from commit " + "c" * 40 + ")",),
        commits=(CommitSha("a" * 40),),
    )
    found = sketch_change(change, RULES)
    assert found.signature.picked == {0xCCCCCCC}
    assert found.signature.commits == {0xAAAAAAA}
    plain = sketch_change(replace(change, messages=("Fix it",)), RULES)
    assert found.terms["word"] == plain.terms["word"]
    assert "named" in found.terms
    assert "named" not in plain.terms


def test_samples_of_long_changes_are_comparable() -> None:
    """The samples of two large changes show that they share most lines."""
    one, other = a_described(a_piece(added=some_code(900))), a_described(a_piece(added=some_code(900, first=90)))
    found = measure_similarities(sketch(one), sketch(other))
    assert found["lines_sim"] == pytest.approx(810 / 990, abs=0.2)
    assert len(pack_signature(sketch(one))) <= 1_100


hashes = st.integers(0, 2**32 - 1)
bottoms = st.builds(make_bottom_sketch, st.sets(hashes, max_size=6), st.integers(1, 4))
signatures = st.builds(
    Signature,
    prod_hash=st.none() | st.integers(-(2**63), 2**63 - 1),
    whole_hash=st.none() | st.integers(-(2**63), 2**63 - 1),
    inverse_hash=st.none() | st.integers(-(2**63), 2**63 - 1),
    minhash=st.none() | st.binary(min_size=256, max_size=256),
    intent=st.none() | st.binary(min_size=128, max_size=128),
    structure=st.none() | st.binary(min_size=128, max_size=128),
    **{
        name: bottoms
        for name in (
            *("prod_lines", "lines", "identifiers", "prod_files", "files", "symbols", "exports", "imports"),
            *("context", "words"),
        )
    },
    references=st.frozensets(hashes, max_size=5),
    commits=st.frozensets(hashes, max_size=5),
    picked=st.frozensets(hashes, max_size=5),
    reverted=st.frozensets(hashes, max_size=5),
    origins=st.frozensets(hashes, max_size=5),
    added=hashes,
    removed=hashes,
    prod_changed=hashes,
    renamed=hashes,
    is_bot=st.booleans(),
    is_release=st.booleans(),
)


@given(signatures)
@settings(max_examples=40)
def test_a_signature_survives_packing(signature: Signature) -> None:
    assert unpack_signature(pack_signature(signature)) == signature


@given(signatures, st.data())
@settings(max_examples=40)
def test_a_truncated_signature_is_rejected(signature: Signature, data: st.DataObject) -> None:
    whole = pack_signature(signature)
    with pytest.raises(StoreError, match="a signature in the index is damaged"):
        unpack_signature(whole[: data.draw(st.integers(0, len(whole) - 1))])


@given(signatures, signatures)
@settings(max_examples=40)
def test_similarity_is_symmetric_and_from_0_to_1(a: Signature, b: Signature) -> None:
    forth, back = measure_similarities(a, b), measure_similarities(b, a)
    assert forth == back
    assert all(value is None or 0 <= value <= 1 for value in forth.values())


def test_an_empty_set_gives_no_similarity() -> None:
    one = Signature(symbols=BottomSketch(1, (5,)))
    assert measure_similarities(one, Signature())["prod_symbols_sim"] is None
