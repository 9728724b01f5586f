"""The facts that changed lines belong to."""

from hypothesis import given
from hypothesis import strategies as st

from custody.core.paths import Lines
from custody.dupes.facts.extractor import extract_file_facts
from custody.dupes.facts.model import Declaration, Facts
from custody.dupes.facts.touched_facts import TouchedFacts, find_touched_facts

SOURCE = b"""\
import a from './a.js';
import b from './b.js';

export class Store {
  size = 1;

  get(key) {
    return key;
  }

  put(key) {
    const later = () => {
      return key;
    };
  }
}

function helper() {}
const x = 1, y = 2, z = 3;
"""
FACTS = extract_file_facts("a.ts", SOURCE)


def symbols(*lines: tuple[int, int]) -> set[str]:
    return set(find_touched_facts(FACTS, [Lines(*fact) for fact in lines]).symbols)


# Conformance: 002-025
def test_a_line_belongs_to_the_innermost_declaration_and_the_next_outer_one() -> None:
    assert symbols((8, 8)) == {"Store.get", "Store"}
    assert symbols((13, 13)) == {"Store.put.later", "Store.put"}
    assert symbols((12, 13)) == {"Store.put.later", "Store.put"}
    assert symbols((5, 5)) == {"Store"}
    assert symbols((17, 17)) == set()
    assert symbols((8, 8), (18, 18)) == {"Store.get", "Store", "helper"}


def test_a_hunk_over_several_declarations_belongs_to_all() -> None:
    assert symbols((8, 12)) == {"Store", "Store.get", "Store.put", "Store.put.later"}
    assert symbols((1, 19)) == {fact.name for fact in FACTS.declared}


def test_all_declarations_on_a_line_are_touched() -> None:
    assert symbols((19, 19)) == {"x", "y", "z"}


def test_an_ended_declaration_is_not_touched() -> None:
    places = {"a": Lines(1, 5), "b": Lines(5, 9)}
    facts = Facts(declared=tuple(Declaration(name, "function", lines, False) for name, lines in places.items()))
    assert find_touched_facts(facts, [Lines(5, 5)]).symbols == {"a", "b"}
    assert find_touched_facts(facts, [Lines(6, 6)]).symbols == {"b"}


def test_exports_and_imports_by_their_lines() -> None:
    assert find_touched_facts(FACTS, [Lines(2, 3)]) == TouchedFacts(imports=frozenset({"./b"}))
    assert find_touched_facts(FACTS, [Lines(13, 13)]).exports == {"Store"}
    assert find_touched_facts(FACTS, [Lines(18, 18)]).exports == frozenset()


def test_no_lines_touch_nothing() -> None:
    assert find_touched_facts(FACTS, []) == TouchedFacts()
    assert find_touched_facts(Facts(), [Lines(1, 9)]) == TouchedFacts()


def test_changed_tests() -> None:
    facts = extract_file_facts(
        "a.test.ts",
        b"describe('a', () => {\n  it('b', () => {\n    expect(1).toBe(1);\n    expect(1).toEqual(1);\n  });\n"
        b"  it('c', () => {});\n});\n",
    )
    touched_facts = find_touched_facts(facts, [Lines(4, 4)])
    assert (touched_facts.suites, touched_facts.tests, touched_facts.matchers) == (("a",), ("b",), ("toEqual",))
    assert find_touched_facts(facts, [Lines(1, 1), Lines(6, 6)]).tests == ("c",)


def test_changed_documents() -> None:
    facts = extract_file_facts("a.md", b"# One\ntext\n## Two\n```ts\nlet a\n```\nsee #1\n# Three\n")
    touched_facts = find_touched_facts(facts, [Lines(5, 7)])
    assert (touched_facts.headings, touched_facts.blocks, touched_facts.references) == (
        ("Two",),
        (("ts", "let", "a"),),
        ("#1",),
    )
    assert find_touched_facts(facts, [Lines(2, 3)]).headings == ("One", "Two")
    assert find_touched_facts(facts, [Lines(8, 8)]).headings == ("Three",)


line_ranges = st.builds(lambda first, more: Lines(first, first + more), st.integers(1, 30), st.integers(0, 12))


# Conformance: 002-025
@given(st.lists(line_ranges, max_size=8), st.lists(line_ranges, max_size=5))
def test_touched_symbols_match_a_search_line_by_line(places: list[Lines], hunks: list[Lines]) -> None:
    facts = Facts(declared=tuple(Declaration(str(n), "function", lines, False) for n, lines in enumerate(places)))
    touched_facts = find_touched_facts(facts, hunks).symbols
    touched = {fact.name for fact in facts.declared if any(fact.lines.gap_to(hunk) == 0 for hunk in hunks)}
    assert touched_facts <= touched
    for line in {line for hunk in hunks for line in range(hunk.first, hunk.last + 1)}:
        enclosing = [fact for fact in facts.declared if line in fact.lines]
        # The innermost starts last, and is the shortest of those.
        innermost = max(enclosing, key=lambda fact: (fact.lines.first, -fact.lines.last), default=None)
        assert innermost is None or innermost.name in touched_facts


@given(st.lists(line_ranges, min_size=1, max_size=5))
def test_the_order_of_hunks_does_not_matter(hunks: list[Lines]) -> None:
    assert (
        find_touched_facts(FACTS, hunks)
        == find_touched_facts(FACTS, hunks[::-1])
        == find_touched_facts(FACTS, hunks * 2)
    )
