"""The folder of a report: no other file in it is changed."""

from pathlib import Path

import pytest

from custody.core.errors import InputError
from custody.server.app.report_folder import LIST, write_html_report


def test_a_report_replaces_an_earlier_one_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "report"
    assert write_html_report(folder, [("index.html", b"1"), ("old.html", b"1"), ("assets/app.js", b"1")]) == 3
    (folder / "mine.txt").write_text("mine")
    write_html_report(folder, [("index.html", b"2"), ("assets/app.js", b"2")])
    assert (folder / "index.html").read_bytes() == b"2"
    assert not (folder / "old.html").exists()
    assert (folder / "mine.txt").read_text() == "mine"


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(InputError, match="not empty"):
        write_html_report(tmp_path, [("index.html", b"2")])
    assert (tmp_path / "index.html").read_text() == "mine"


@pytest.mark.parametrize("name", ["../mine.html", "/mine.html", "assets/../../mine.html", "mine.py", "x/y.html"])
def test_a_list_that_names_other_files_removes_none_of_them(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "report"
    folder.mkdir()
    for place in (tmp_path / "mine.html", folder / "mine.py"):
        place.write_text("mine")
    (folder / LIST).write_text(f'{{"files": ["{name}"]}}')
    write_html_report(folder, [("index.html", b"2")])
    assert (tmp_path / "mine.html").exists() and (folder / "mine.py").exists()


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    place = tmp_path / "report"
    place.write_text("mine")
    with pytest.raises(InputError, match="not a folder"):
        write_html_report(place, [])


@pytest.mark.parametrize("name", ["assets", "assets/app.js", "index.html", "old.html", LIST])
def test_nothing_is_written_or_removed_through_a_link(tmp_path: Path, name: str) -> None:
    folder, elsewhere = tmp_path / "report", tmp_path / "elsewhere"
    write_html_report(
        folder, [("index.html", b"1"), ("old.html", b"1"), ("assets/app.js", b"1"), ("assets/old.js", b"1")]
    )
    (folder / name).rename(elsewhere)
    (folder / name).symlink_to(elsewhere)
    before = {file: file.read_bytes() for file in (elsewhere, *elsewhere.rglob("*")) if file.is_file()}
    with pytest.raises(InputError, match=f"cannot write through the symbolic link '.*{name}'"):
        write_html_report(folder, [("index.html", b"2"), ("assets/app.js", b"2")])
    assert (folder / name).is_symlink()
    assert {file: file.read_bytes() for file in (elsewhere, *elsewhere.rglob("*")) if file.is_file()} == before


def test_a_folder_that_is_only_in_the_list_is_not_removed_from_through_a_link(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "report", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "site.css").write_text("mine")
    write_html_report(folder, [("index.html", b"1")])
    (folder / "assets").symlink_to(elsewhere)
    (folder / LIST).write_text('{"files": ["index.html", "assets/site.css"]}')
    with pytest.raises(InputError, match="cannot write through the symbolic link '.*assets'"):
        write_html_report(folder, [("index.html", b"2")])
    assert (elsewhere / "site.css").read_text() == "mine"


def test_a_folder_that_somebody_named_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "report").symlink_to(tmp_path / "real")
    assert write_html_report(tmp_path / "report", [("index.html", b"1")]) == 1
    assert (tmp_path / "real" / "index.html").read_bytes() == b"1"
