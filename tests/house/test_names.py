"""The check of names finds each kind of bad name, and the tree has none."""

from pathlib import Path

import pytest

from tools import names

ROOT = Path(__file__).resolve().parents[2]


def planted(tmp_path: Path, **modules: str) -> list[str]:
    """Return the findings for a tree with these modules."""
    folder = tmp_path / names.SOURCE
    folder.mkdir(parents=True)
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    return [problem.message for problem in names.check(tmp_path)]


def test_the_tree_has_no_bad_name() -> None:
    assert names.check(ROOT) == []


def test_a_public_type_is_defined_once(tmp_path: Path) -> None:
    found = planted(tmp_path, first="class Row: ...\n", second="Row = tuple[int, str]\n", third="class _Row: ...\n")
    assert found == ["the type 'Row' is also defined in src/custody/first.py"]


@pytest.mark.parametrize(
    ("name", "word"), [("Told", "Told"), ("_Seen", "Seen"), ("ChangeSeen", "Seen"), ("Weighed", "Weighed")]
)
def test_a_type_is_named_by_a_noun(tmp_path: Path, name: str, word: str) -> None:
    message = f"the type '{name}' is named by '{word}', not by a noun"
    assert planted(tmp_path, module=f"class {name}: ...\n") == [message]


def test_an_alias_is_a_type_too(tmp_path: Path) -> None:
    assert planted(tmp_path, module="Found = tuple[int, str]\n") == [
        "the type 'Found' is named by 'Found', not by a noun"
    ]


@pytest.mark.parametrize("name", ["told", "_told", "words", "_words", "one"])
def test_a_function_has_a_verb(tmp_path: Path, name: str) -> None:
    text = f"def {name}(): ...\n\n\nclass Report:\n    def {name}(self): ...\n"
    assert planted(tmp_path, module=text) == [f"the function '{name}' has no verb"] * 2


def test_a_variable_says_what_it_holds(tmp_path: Path) -> None:
    text = "def render(one):\n    for one in ():\n        print(one)\n\n\nclass Pair:\n    one: int\n"
    assert planted(tmp_path, module=text) == [
        "the parameter 'one' does not say what it holds",
        "the variable 'one' does not say what it holds",
    ]


def test_nouns_and_public_names_stay(tmp_path: Path) -> None:
    text = "class Finding: ...\n\n\nclass Near: ...\n\n\nclass Attempt:\n    def words(self): ...\n"
    assert planted(tmp_path, module=text) == []


@pytest.mark.parametrize("name", ["behind", "erased_here", "all", "to"])
def test_a_public_method_starts_with_a_verb(tmp_path: Path, name: str) -> None:
    text = f"class Report:\n    def {name}(self): ...\n\n    def _{name}(self): ...\n"

    assert planted(tmp_path, module=text) == [f"the method 'Report.{name}' has no verb"]


@pytest.mark.parametrize("decorator", ["property", "cached_property", "classmethod", "contextmanager"])
def test_what_is_read_like_a_value_needs_no_verb(tmp_path: Path, decorator: str) -> None:
    assert planted(tmp_path, module=f"class Report:\n    @{decorator}\n    def of(self): ...\n") == []


def test_callbacks_and_conversions_need_no_verb(tmp_path: Path) -> None:
    text = "class Report:\n    def on_end(self): ...\n\n    def to_json(self): ...\n"
    assert planted(tmp_path, module=text) == []


def test_every_method_that_stays_exists(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = set(names.METHODS_KEPT)
    monkeypatch.setattr(names, "METHODS_KEPT", {})
    found = {problem.message.split("'")[1] for problem in names.check(ROOT)}
    assert kept - {"Attempt.words"} == found - {"words"}
