"""Any content gives facts, in bounded time."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.core.paths import Lines
from custody.dupes.facts.extractor import classify_file_channel, detect_file_language, extract_file_facts
from custody.dupes.facts.model import FactLimits, Facts
from tests.builders.table import table
from tests.unit.dupes.facts import test_documents, test_languages, test_scripts

PATHS = ["a.ts", "a.tsx", "a.js", "a.py", "a.go", "a.rs", "a.java", "a.md", "a.rst", "a.txt"]
CODE = PATHS[:7]
SMALL = FactLimits(bytes_max=60_000)


def places(facts: Facts) -> Iterator[Lines]:
    intent, structure = facts.intent, facts.structure
    groups = (
        *(facts.declared, facts.exports, facts.imports),
        *(intent.suites, intent.tests, intent.matched, intent.imports),
        *(structure.headings, structure.blocks, structure.references),
    )
    return (fact.lines for group in groups for fact in group)


def check(path: str, content: bytes, limits: FactLimits = SMALL) -> Facts:
    facts = extract_file_facts(path, content, limits)
    last = content.count(b"\n") + 1
    assert all(lines.last <= last for lines in places(facts))
    assert extract_file_facts(path, content, limits) == facts
    assert facts.language == detect_file_language(path)
    return facts


pieces = st.sampled_from(
    [
        *(
            piece.encode()
            for piece in "{ } ( ) [ ] < > </ /> => ; : , . ? ! = + - * / # @ \\ ' \" ` ${ \n \r\n \t".split(" ")
        ),
        *(
            b"class A ",
            b"function f",
            b"def f",
            b"fn f",
            b"func f",
            b"import ",
            b"export ",
            b"export default ",
            b"from ",
        ),
        *(
            b"describe(",
            b"it('a', ",
            b"expect(a)",
            b".toBe(",
            b"module.exports",
            b"exports.a = ",
            b"const a",
            b"interface I",
        ),
        *(b"#[test]", b"impl A for B", b"mod m", b"use a::", b"pub ", b"@Test ", b"public ", b"package a", b"type T"),
        *(
            b"__all__ = [",
            b"self.assertEqual(",
            b"async ",
            b"if ",
            b"else ",
            b"\n    ",
            b"# ",
            b"```",
            b"====",
            b"::\n",
            b".. code::",
        ),
        *(b"\xff", b"\0", b"\xc3", b"\xef\xbb\xbf", "ü€𝒜".encode(), b"x" * 300, b"1", b"a", b" "),
    ]
)


@given(st.sampled_from(PATHS), st.lists(pieces, max_size=40).map(b"".join))
def test_code_fragments_never_raise_and_lines_are_in_the_file(path: str, content: bytes) -> None:
    check(path, content)


@given(st.sampled_from(PATHS), st.binary(max_size=400))
def test_any_bytes_give_facts(path: str, content: bytes) -> None:
    check(path, content)


REAL = {
    "a.ts": test_scripts.SERVICE,
    "a.tsx": test_scripts.TSX,
    "a.js": test_scripts.COMMON,
    "a.py": test_languages.PYTHON,
    "a.go": test_languages.GO,
    "a.rs": test_languages.RUST,
    "a.java": test_languages.JAVA,
    "a.md": test_documents.MARKDOWN,
    "a.rst": test_documents.RESTRUCTURED,
}


@given(st.sampled_from(sorted(REAL)), st.data())
def test_a_damaged_file_gives_facts(path: str, data: st.DataObject) -> None:
    content = REAL[path]
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, len(content)))
    check(path, content[:start] + data.draw(pieces) + content[end:])


@table("path", CODE)
@table("ending", [b"\r\n", b"\r\n\r\n"])
def test_line_ends_do_not_change_names(path: str, ending: bytes) -> None:
    def names(facts: Facts) -> list[str]:
        return [*(fact.name for fact in facts.declared), *(fact.module for fact in facts.imports)]

    assert names(check(path, REAL[path].replace(b"\n", ending))) == names(extract_file_facts(path, REAL[path]))


@table("path", PATHS)
@table(
    "content",
    [b"", b"\n", b"\xef\xbb\xbf", b"\0" * 2_000, b"\xff\xfe" * 500, b"x" * 50_000, b" " * 50_000, b"\n" * 50_000],
)
def test_odd_files_give_facts(path: str, content: bytes) -> None:
    assert check(path, content).declared == ()


@table("path", PATHS)
def test_a_line_of_twelve_megabytes_is_not_parsed(path: str) -> None:
    facts = extract_file_facts(path, b"x=" * (6 << 20))
    assert facts.degraded is not None and facts.degraded == "not parsed: larger than 4,194,304 bytes"


DEEP = {
    "brackets": (b"[", b"]"),
    "parentheses": (b"(", b")"),
    "braces": (b"{", b"}"),
    "calls": (b"a(", b")"),
    "open only": (b"(", b""),
    "minus": (b"-", b""),
    "calls open only": (b"a(", b""),
    "lines": (b"(\n", b")\n"),
}


@table("path", CODE)
@table("nested", DEEP)
def test_nesting_deeper_than_the_stack_gives_facts(path: str, nested: str) -> None:
    left, right = DEEP[nested]
    depth = 10 * sys.getrecursionlimit()
    facts = extract_file_facts(path, left * depth + right * depth)
    assert (facts.declared, facts.imports) == ((), ())


@pytest.mark.parametrize("path", CODE)
def test_a_hundred_thousand_levels_give_facts(path: str) -> None:
    facts = extract_file_facts(path, b"[" * 100_000 + b"]" * 100_000)
    assert (facts.declared, facts.imports) == ((), ())


def test_deeply_nested_declarations_are_ignored() -> None:
    content = b"function near() {}" + b"{" * 40 + b"function far() {}" + b"}" * 40
    facts = [extract_file_facts("a.js", content, FactLimits(depth_max=depth)).declared for depth in (20, 200)]
    assert [[declaration.name for declaration in declared] for declared in facts] == [["near"], ["near", "far"]]


def test_deeply_nested_calls_give_facts() -> None:
    assert extract_file_facts("a.js", b"it('a', f);" + b"a(" * 70_000 + b")" * 70_000).intent.tests


def test_a_file_cut_off_ends_with_its_last_line() -> None:
    assert str(extract_file_facts("a.rs", b"struct A {\n    a: u8,\n").declared[0].lines) == "1-2"


@pytest.mark.parametrize("path", ["a.ts", "a.js"])
def test_names_outside_the_deep_part_are_found(path: str) -> None:
    content = b"export function f() { return " + b"[" * 100_000 + b"]" * 100_000 + b"; }\nfunction g() {}"
    assert [declaration.name for declaration in extract_file_facts(path, content).declared] == ["f", "g"]


@pytest.mark.parametrize(
    "content", [b"<a {{b:>c:d(e f)", b"<a {{b:>c:d(e f)\n", b'``"\\>"``<({/b\'`b\n},(]/",([,\n]a`']
)
def test_a_looping_parser_is_stopped(content: bytes) -> None:
    assert extract_file_facts("a.tsx", content) == Facts(language="tsx", degraded="not parsed: the parser loops")


def test_a_caller_can_stop_the_parser() -> None:
    calls: list[int] = []

    def enough() -> bool:
        calls.append(1)
        return len(calls) > 3

    facts = extract_file_facts("a.ts", b"''" * 20_000, enough=enough)
    assert facts == Facts(language="typescript", degraded="not parsed: the parser takes too long")
    assert extract_file_facts("a.ts", b"const a = 1;", enough=lambda: False).declared


def test_many_invalid_tokens_are_not_parsed() -> None:
    facts = extract_file_facts("a.go", b"a(" * 50_000)
    assert facts == Facts(language="go", degraded="not parsed: more than 4,000 invalid tokens in a row")


def test_a_missing_grammar_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    from custody.dupes.facts import syntax_tree as parsing

    parsing._load_grammar_language.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    try:
        facts = extract_file_facts("a.go", b"package a")
    finally:
        parsing._load_grammar_language.cache_clear()
    assert facts == Facts(language="go", degraded="not parsed: the grammar of go is not installed")


@pytest.mark.parametrize(
    "content", ["require()", "import()", "it()", "exports.", "expect(", "export default", "x = {a:}"]
)
def test_empty_calls_give_facts(content: str) -> None:
    assert check("a.js", content.encode()).imports == ()


def test_a_long_path_has_a_channel() -> None:
    assert classify_file_channel("a/" * 2_000 + "b.ts", {"tests": ["**/a/**/a/**/*.py"]}).value == "production"


def test_documents_load_no_grammar() -> None:
    code = (
        "import sys, custody.dupes.facts.extractor as e; e.extract_file_facts('a.md', b'# A'); "
        "print([name for name in sys.modules if 'tree_sitter' in name])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout == "[]\n"
