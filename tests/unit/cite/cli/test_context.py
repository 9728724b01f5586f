"""``custody cite context``, ``near`` and ``search`` as a user runs them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from custody.cite.app.registry_stores import RecordRegistryStore
from custody.cite.app.source_registry import SourceRegistry
from custody.cite.context import HEAD
from custody.cite.source_texts import APART
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.in_process import custody
from tests.builders.sources import a_source

FISH = "Mackerel swim north in spring, and the prices that fishers are paid for them rise until the autumn comes. " * 3
CACHES = "A shared cache stores answers for many clients and asks the origin again when one of them has gone stale. "


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = a_git_folder(tmp_path_factory.mktemp("many") / "repository")
    registry = SourceRegistry(RecordRegistryStore(Workspace(folder)), "ana")
    for n, title in enumerate(("Fish", "Caches", "Caches again", "Nothing kept"), start=1):
        registry.register(a_source(n, title=title))
    registry.excerpt("S1", FISH)
    registry.excerpt("S2", CACHES + "\tand a tab\x1b[31m")
    registry.excerpt("S3", f"Quoted from elsewhere: {CACHES}")
    return folder


def records(repository: Path) -> int:
    total: int = json.loads(custody(repository, "records", "--json").out)["total"]
    return total


# Conformance: 003-103
def test_the_context_fits_its_budget_is_repeatable_and_records_nothing(repository: Path) -> None:
    before = records(repository)
    words = ("cite", "context", "--budget", "700", "--objective", "prices of mackerel")
    ran = custody(repository, *words)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"{HEAD}S1 – Fish (https://example.org/1)\n    Mackerel swim north")
    assert ran.out.endswith("Objectives:\n- prices of mackerel\n")
    assert len(ran.out.encode()) <= 700
    assert custody(repository, *words) == ran
    assert records(repository) == before


def test_json_has_levels_and_ranks(repository: Path) -> None:
    said = json.loads(custody(repository, "cite", "context", "--json", "--budget", "700", "--objective", "cache").out)
    assert (said["report"], said["budget"], said["objectives"]) == ("cite-context", 700, ["cache"])
    assert said["tokens"] == len(said["context"].encode()) <= 700 < said["full_tokens"]
    assert {one["id"] for one in said["sources"]} == {"S1", "S2", "S3", "S4"}
    assert said["sources"][0]["id"] in ("S2", "S3") and said["sources"][0]["standing"]["objective"] == 1.0
    assert (said["without_text"], said["left_out"]) == (["S4"], [])
    values = [one["standing"]["value"] for one in said["sources"]]
    assert values == sorted(values, reverse=True)


def test_sources_that_do_not_fit_are_reported(tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "repository")
    registry = SourceRegistry(RecordRegistryStore(Workspace(folder)), "ana")
    for n in range(1, 31):
        registry.register(a_source(n))
    ran = custody(folder, "cite", "context", "--budget", str(len(HEAD) + len("29 more sources did not fit.\n") + 5))
    assert ran.out == f"{HEAD}S30\n29 more sources did not fit.\n"
    assert ran.err.startswith("29 sources did not fit: S1, S2, ") and ran.err.endswith(" and 9 more\n")
    refused = custody(folder, "cite", "context", "--budget", "9")
    assert (refused.status, refused.out) == (2, "")
    assert "a budget of 9 tokens is too small" in refused.err


def test_restore_prints_the_stored_text_byte_for_byte(repository: Path) -> None:
    def restored(source_id: str) -> bytes:
        words = [sys.executable, "-m", "custody", "cite", "context", "--restore", source_id]
        return subprocess.run(words, cwd=repository, capture_output=True, check=True).stdout

    assert restored("S1") == FISH.encode()
    assert restored("S2") == f"{CACHES}\tand a tab\x1b[31m".encode()
    nothing = custody(repository, "cite", "context", "--restore", "S4")
    assert (nothing.status, nothing.out) == (0, "")
    assert "no text of S4 is stored" in nothing.err
    said = json.loads(custody(repository, "cite", "context", "--restore", "S1", "--json").out)
    assert (said["report"], said["id"], said["text"]) == ("cite-text", "S1", FISH)


def test_a_context_contains_no_control_characters(repository: Path) -> None:
    out = custody(repository, "cite", "context").out
    assert "\x1b" not in out and "\ufffd[31m" in out


def test_near_copies_are_found_over_the_whole_registry_for_one_source_and_for_a_file(
    repository: Path, tmp_path: Path
) -> None:
    whole = custody(repository, "cite", "near")
    first, *others = whole.out.splitlines()
    assert first.startswith("S2  S3  ") and others == ["skipped 1 source without stored text"]
    assert custody(repository, "cite", "near", "S3").out.startswith("S3  S2  ")
    assert custody(repository, "cite", "near", "S4").out.startswith("no near copies among 3 sources")
    file = tmp_path / "report.md"
    file.write_text(f"# Report\n\nAs they say: {FISH}{APART}The end.\n")
    said = json.loads(custody(repository, "cite", "near", "--file", str(file), "--json").out)
    assert [(pair["one"], pair["other"]) for pair in said["pairs"]] == [(str(file), "S1")]
    assert custody(repository, "cite", "near", "--file", "-", stdin=FISH).out.startswith("-  S1  100%")
    for way in ("simhash", "forest"):
        assert custody(repository, "cite", "near", "--by", way).out.startswith("S2  S3  ")
    assert custody(repository, "cite", "near", "S1", "--least", "0.1").out.startswith("no near copies among 3 sources")


# Conformance: 003-104
def test_search_finds_sources_by_topic(repository: Path) -> None:
    assert custody(repository, "cite", "search", "price", "of", "mackerel", "--most", "1").out.startswith("S1  Fish  ")
    assert custody(repository, "cite", "search", "quasar").out == "no match in 4 sources\n"
    said = json.loads(custody(repository, "cite", "search", "shared caching", "--json").out)
    assert {hit["id"] for hit in said["hits"]} == {"S2", "S3"}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("context", "--restore", "S9"), "unknown source 'S9'"),
        (("context", "--restore", "x"), "source_id is invalid: 'x'"),
        (("context", "--restore", "S1", "--budget", "5"), "--restore cannot be combined with --budget or --objective"),
        (("context", "--budget", "-1"), "-1 is not in the range"),
        (("near", "S1", "--file", "f"), "an id and --file are mutually exclusive"),
        (("near", "S9"), "unknown source 'S9'"),
        (("near", "--file", "nowhere"), "cannot read 'nowhere'"),
        (("near", "--least", "2"), "2.0 is not in the range"),
        (("search",), "missing argument"),
    ],
)
def test_bad_input_is_refused(repository: Path, words: tuple[str, ...], says: str) -> None:
    ran = custody(repository, "cite", *words)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_an_empty_registry_has_an_empty_context(tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "empty")
    assert custody(folder, "cite", "context").out == HEAD
    assert custody(folder, "cite", "near").out == "no near copies among 0 sources with text\n"
    assert custody(folder, "cite", "search", "a").out == "no match in 0 sources\n"
