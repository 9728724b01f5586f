"""Other tools are scored like custody if they are installed, and reported as not run otherwise."""

import io
import json
from pathlib import Path

import pytest

from bench.attribution.scenarios import SCENARIOS
from bench.peers import STORIES, TOOLS, main

WITHOUT = ("agent-trace", "git-ai", "entire")


def ran(*words: str) -> tuple[int, str]:
    """Return the exit status and the output."""
    out = io.StringIO()
    return main(list(words), out=out, err=io.StringIO()), out.getvalue()


def test_a_tool_that_is_not_installed_is_not_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    status, said = ran("--only", ",".join(WITHOUT), "--json", str(tmp_path / "peers.json"))
    assert status == 0
    assert [line.partition(":")[0] for line in said.splitlines()] == list(WITHOUT)
    assert all("not run" in line for line in said.splitlines())
    told = json.loads((tmp_path / "peers.json").read_text("utf-8"))
    assert [(one["tool"], one["total"]) for one in told] == [(name, None) for name in WITHOUT]


def test_trailers_give_a_commit_to_one_session_and_so_take_a_persons_line() -> None:
    status, said = ran("--only", "git-trailers", "--scenarios", "plain-edit,person-inside-before")
    assert status == 0
    assert "git-trailers  2        1      0.9333     1.0000  14     1" in said
    assert "git-trailers: person-inside-before: 1 stolen" in said


def test_a_tool_that_breaks_is_a_failure_with_its_words(tmp_path: Path) -> None:
    broken = tmp_path / "entire"
    broken.write_text("#!/bin/sh\necho out of order >&2\nexit 3\n", encoding="utf-8")
    broken.chmod(0o700)
    status, said = ran("--only", "entire", "--tool", "entire", str(broken), "--scenarios", "plain-edit")
    assert status == 1
    assert "could not be played" in said
    assert "out of order" in said


def test_the_stories_are_all_in_the_book() -> None:
    assert set(STORIES) <= set(SCENARIOS)
    assert len(STORIES) == len(set(STORIES))


def test_an_unknown_tool_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        ran("--tool", "gti-ai", "/nowhere")
    assert "gti-ai" in capsys.readouterr().err
    assert "git-ai" in TOOLS
