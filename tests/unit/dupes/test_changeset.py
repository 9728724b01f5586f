"""A change's production code as a set: by shingles, by fingerprints, by names."""

from msgspec.structs import replace

from custody.core.paths import Hunk
from custody.dupes.descent import Mode, make_change_set
from custody.dupes.facts.model import Channel
from custody.dupes.facts.touched_facts import TouchedFacts
from custody.dupes.rules import DedupeRules
from tests.unit.dupes.changes import a_described, a_piece, some_code

RULES = DedupeRules()
CODE = some_code(40)


def test_only_production_counts() -> None:
    change = a_described(
        a_piece("docs/a.md", CODE, channel=Channel.DOCS),
        a_piece("tests/a.ts", CODE, channel=Channel.TESTS, after=TouchedFacts(symbols=frozenset({"helper"}))),
    )
    made = make_change_set(change, RULES)
    assert [made.elements(mode) for mode in Mode] == [frozenset()] * 3
    assert (made.lines_changed, made.files_changed, made.paths) == (0, 0, frozenset())


# Conformance: 002-049
def test_patch_mode_separates_removed_and_added_lines() -> None:
    added = make_change_set(a_described(a_piece(added=["a = b + c - d;"])), RULES)
    removed = make_change_set(a_described(a_piece(removed=["a = b + c - d;"])), RULES)
    assert added.elements(Mode.PATCH) and removed.elements(Mode.PATCH)
    assert not set(added.elements(Mode.PATCH)) & set(removed.elements(Mode.PATCH))


def test_shingles_have_five_tokens() -> None:
    change = a_described(a_piece(added=["a = b + c;"]))
    assert len(make_change_set(change, RULES).shingles) == 2


# Conformance: 002-050
def test_rewrite_mode_ignores_path_position_and_removed_lines() -> None:
    here = make_change_set(a_described(a_piece("src/here.ts", CODE)), RULES)
    there = make_change_set(
        a_described(a_piece("lib/there.ts", CODE, removed=some_code(9, first=90), first=500)), RULES
    )
    assert here.elements(Mode.REWRITE) == there.elements(Mode.REWRITE) != frozenset()
    assert here.elements(Mode.PATCH) != there.elements(Mode.PATCH)


# Conformance: 002-059
def test_rewrite_mode_ignores_hunk_borders() -> None:
    cut = (Hunk(1, 1, (), tuple(CODE[:17])), Hunk(30, 30, (), tuple(CODE[17:])))
    in_two = make_change_set(a_described(replace(a_piece(), runs=cut)), RULES)
    whole = make_change_set(a_described(a_piece(added=CODE)), RULES)
    assert in_two.elements(Mode.REWRITE) == whole.elements(Mode.REWRITE)


# Conformance: 002-051
def test_symbols_mode_has_separate_symbols_and_exports() -> None:
    facts = TouchedFacts(
        symbols=frozenset({"load", "Store"}), exports=frozenset({"load"}), imports=frozenset({"node:fs"})
    )
    made = make_change_set(a_described(a_piece(after=facts)), RULES)
    assert made.elements(Mode.SYMBOLS) == {"symbol load", "symbol Store", "export load"}


def test_sizes_are_counted() -> None:
    made = make_change_set(
        a_described(a_piece("src/new.ts", ["a"], removed=["b", "c"], old_path="src/old.ts"), a_piece("src/x.ts")), RULES
    )
    assert (made.lines_changed, made.files_changed, made.files_renamed) == (3, 2, 1)
    assert made.paths == {"src/new.ts", "src/old.ts", "src/x.ts"}
