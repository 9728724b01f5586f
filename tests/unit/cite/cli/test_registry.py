"""``custody cite add``, ``list``, ``show``, ``merge`` and ``unmerge`` as a user runs them."""

import json
from pathlib import Path

import pytest

from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody

RFC = "https://www.rfc-editor.org/rfc/rfc9110"
OTHER = "https://datatracker.ietf.org/doc/html/rfc9110"
SHOW = f"""\
S1  HTTP Semantics  {RFC}
  publisher  IETF
  date       2022-06-01T00:00:00
  also       S2
  reading    never
  key        url:{RFC}
  version    1
  url        {RFC} (S1)
  url        {OTHER} (S1)
  url        https://example.org/copy (S2)
  merged     {OTHER} into S1: the same work, rfc:9110
  merged     S2 into S1 by USER: a mirror
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return a_git_folder(tmp_path / "repository")


@pytest.fixture(scope="module")
def two_sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = a_git_folder(tmp_path_factory.mktemp("two") / "repository")
    for n in (1, 2):
        cite(folder, "add", f"https://example.org/{n}")
    return folder


def cite(repository: Path, *words: str) -> str:
    ran = custody(repository, "cite", *words)
    assert (ran.status, ran.err) == (0, "")
    return ran.out


# Conformance: 003-086, 003-098
def test_from_the_first_source_to_a_merge_and_back(repository: Path) -> None:
    assert cite(repository, "list") == "no sources registered\n"
    said = ("--title", "HTTP Semantics", "--publisher", "IETF", "--date", "2022-06-01")
    assert cite(repository, "add", RFC, *said) == f"S1  HTTP Semantics  {RFC}  (new)\n"
    assert cite(repository, "add", OTHER) == f"S1  HTTP Semantics  {RFC}  (known)\n"
    assert cite(repository, "add", "https://example.org/copy") == "S2  -  https://example.org/copy  (new)\n"
    assert cite(repository, "add", "https://www.example.org/copy") == (
        "S3  -  https://www.example.org/copy  (new)\n  possibly the same as S2: similar URLs\n"
    )
    assert cite(repository, "merge", "S1", "S2", "--reason", "a mirror") == f"S1  HTTP Semantics  {RFC}  (also S2)\n"
    shown = json.loads(cite(repository, "show", "S2", "--json"))
    who = shown["merges"][1]["who"]
    words = cite(repository, "show", "S2")
    assert words.replace(f" by {who}:", " by USER:") == SHOW + "  possibly the same as S3: similar URLs\n"
    assert cite(repository, "unmerge", "S2", "--reason", "no") == (
        f"S1  HTTP Semantics  {RFC}\nS2  -  https://example.org/copy\n"
    )
    assert cite(repository, "unmerge", "S1", "--url", OTHER) == f"S1  HTTP Semantics  {RFC}\nS4  -  {OTHER}\n"
    assert [line.split()[0] for line in cite(repository, "list").splitlines()] == ["S1", "S2", "S3", "S4"]
    assert custody(repository, "verify").status == 0


def test_json_is_the_report(repository: Path) -> None:
    added = json.loads(cite(repository, "add", "https://example.org/a", "--year", "2020", "--json"))
    assert (added["report"], added["new"], added["source"]["id"]) == ("cite-add", True, "S1")
    listed = json.loads(cite(repository, "list", "--json"))
    assert listed["sources"] == [added["source"]]
    assert listed["registry"] == added["registry"]
    assert listed["sources"][0] == {
        "aliases": [],
        "author": None,
        "canonical_key": "url:https://example.org/a",
        "credibility_score": 0.5,
        "date": None,
        "id": "S1",
        "metadata": {"year": 2020},
        "publisher": None,
        "reading": "never",
        "relevance_score": 0.5,
        "source_type": None,
        "source_version": 1,
        "title": "",
        "url": "https://example.org/a",
    }


def test_a_merge_without_a_reason_has_the_default_reason(repository: Path) -> None:
    for n in (1, 2):
        cite(repository, "add", f"https://example.org/{n}")
    cite(repository, "merge", "S1", "S2")
    (merge,) = json.loads(cite(repository, "show", "S2", "--json"))["merges"]
    assert (merge["kept"], merge["absorbed"], merge["reason"]) == ("S1", "S2", "merged by hand")


# Conformance: 003-034
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("add",), "title and URL are both missing"),
        (("add", "javascript:alert(1)"), "is a 'javascript:' URL, not a page"),
        (("add", "example.org"), "is not a URL: 'example.org'"),
        (("add", "https://example.org", "--date", "2026-02-30"), "date is invalid: '2026-02-30'"),
        (("add", "https://example.org", "--year", "12345"), "12345 is not in the range"),
        (("add", "--title", "x" * 5000), "title has 5,000 bytes, more than 4,096"),
        (("show", "S7"), "unknown source 'S7'"),
        (("show", "7"), "source_id is invalid: '7'"),
        (("merge", "S1", "S1", "--reason", "x"), "are already merged as"),
        (("merge", "S1", "S2", "--reason", " "), "a merge needs a reason"),
        (("unmerge", "S1"), "'S1' was not merged into another source"),
        (("unmerge", "S1", "--url", "https://nowhere.example"), "is not a URL of 'S1'"),
        (("unmerge", "S1", "--reason", " "), "the reason is empty"),
        (("forget", "S1"), "unknown command 'forget'"),
    ],
)
def test_bad_input_is_an_error_and_records_nothing(two_sources: Path, words: tuple[str, ...], says: str) -> None:
    ran = custody(two_sources, "cite", *words)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert json.loads(custody(two_sources, "records", "--json").out)["total"] == 2


def test_a_title_cannot_move_the_cursor(repository: Path) -> None:
    said = cite(repository, "add", "--title", "a\x1b[2Jb \u202egnol c")
    assert said == "S1  a [2Jb \\u202egnol c  -  (new)\n"
