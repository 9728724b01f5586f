"""The bench of near copies, on a small real repository."""

import io
import json
import random
import subprocess
from pathlib import Path

import pytest

from bench import cite_near
from bench.attribution.world import surroundings
from bench.registry import COMMANDS


def a_document(seed: int) -> str:
    chance = random.Random(seed)
    words = ["".join(chance.choice("bdfgklmn") + chance.choice("aeiou") for _ in range(3)) for _ in range(400)]
    return "\n\n".join(" ".join(words[at : at + 40]) for at in range(0, 400, 40))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a repository: six documents, a copy, a short document and a file of another kind."""
    folder = tmp_path / "repository"
    folder.mkdir()
    for n in range(6):
        (folder / f"{n}.md").write_text(a_document(n))
    (folder / "again.md").write_text(a_document(0))
    (folder / "short.md").write_text("Too short.")
    (folder / "code.py").write_text(a_document(9))
    for words in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "--message", "documents")):
        subprocess.run(["git", *words], cwd=folder, env=surroundings(folder.parent), check=True)
    return folder


def test_texts_are_the_documents_of_a_usual_length_each_once(repository: Path, tmp_path: Path) -> None:
    assert sorted(cite_near.texts_of(repository, tmp_path)) == sorted(a_document(n) for n in range(6))
    assert len(cite_near.texts_of(repository, tmp_path, 2)) == 2


@pytest.mark.parametrize("name", sorted(cite_near.EDITS))
def test_every_edit_changes_a_text_and_keeps_some_of_it(name: str) -> None:
    text, others = a_document(1), [a_document(2), a_document(3)]
    changed = cite_near.EDITS[name](text, random.Random(1), others)
    assert changed != text
    assert set(changed.lower().split()) & set(text.split())


# Conformance: 003-050
def test_the_figures_are_the_same_for_the_same_seed_and_winnowing_finds_passages(repository: Path) -> None:
    outs = []
    for _ in range(2):
        out = io.StringIO()
        assert COMMANDS["cite-near"](["--repo", str(repository), "--json"], out=out, err=io.StringIO()) == 0
        outs.append(out.getvalue())
    assert outs[0] == outs[1]
    ways = json.loads(outs[0])["ways"]
    assert ways["winnowing"]["precision"] == 1.0
    assert [ways["winnowing"]["recall"][edit] for edit in ("tenth of it", "half of it", "framed")] == [1.0] * 3
    assert ways["simhash"]["recall"]["tenth of it"] < 1.0


def test_without_documents_nothing_is_measured(tmp_path: Path) -> None:
    err = io.StringIO()
    assert cite_near.main(["--repo", str(tmp_path)], out=io.StringIO(), err=err) == 1
    assert "not measured: needs a repository with commits" in err.getvalue()


def test_a_bound_can_be_given(repository: Path) -> None:
    out = io.StringIO()
    assert cite_near.main(["--repo", str(repository), "--least", "winnowing=1.1"], out=out, err=io.StringIO()) == 0
    assert "| winnowing | 1.000 | 0.000 |" in out.getvalue()
