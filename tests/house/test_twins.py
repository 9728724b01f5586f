"""The check of shapes finds types with the same fields in two packages, and the tree has none."""

from pathlib import Path

from tools import twins

ROOT = Path(__file__).resolve().parents[2]
SPAN = "class {}:\n    id: str\n    name: str\n    at_ns: int\n{}"


def planted(tmp_path: Path, modules: dict[str, str], judged: dict[tuple[str, str], str] | None = None) -> list[str]:
    """Return the findings for a tree with these modules."""
    for name, text in modules.items():
        path = tmp_path / twins.SOURCE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return [problem.message for problem in twins.check(tmp_path, judged or {})]


def test_the_tree_has_no_twins() -> None:
    assert twins.check(ROOT) == []


def test_types_of_two_packages_with_the_same_fields_are_twins(tmp_path: Path) -> None:
    modules = {"graph/model.py": SPAN.format("Span", "    kind: str\n"), "sdk/model.py": SPAN.format("Call", "")}
    message = "'Span' has the fields of 'Call' (src/custody/sdk/model.py:1): at_ns, id, name"
    assert planted(tmp_path, modules) == [message]
    assert planted(tmp_path, modules, {("Call", "Span"): "a reason"}) == []


def test_types_of_one_package_or_with_other_fields_are_not_twins(tmp_path: Path) -> None:
    others = "    kind: str\n    status: str\n    agent: str\n"
    modules = {
        "graph/model.py": SPAN.format("Span", ""),
        "graph/app.py": SPAN.format("Call", ""),
        "sdk/model.py": SPAN.format("Record", others),
    }
    assert planted(tmp_path, modules) == []


def test_a_json_shape_may_have_the_fields_of_an_inner_type(tmp_path: Path) -> None:
    modules = {"core/views.py": SPAN.format("Span", ""), "graph/wire/report.py": SPAN.format("SpanReport", "")}
    assert planted(tmp_path, modules) == []


def test_a_row_of_the_table_names_twins(tmp_path: Path) -> None:
    modules = {"core/views.py": SPAN.format("Span", "")}
    assert planted(tmp_path, modules, {("Call", "Span"): "a reason"}) == [
        "'Call' and 'Span' are not twins: remove their row"
    ]
