"""The set-up is reliable: all downloads hashed, nothing machine-specific, and no partial environment counts as done."""

import ast
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.builders.table import table
from tests.house.planting import ROOT
from tools import setup

LOCKS = sorted((ROOT / "requirements").glob("*.lock"))
SOURCE = ROOT / "src" / "custody"
PACKAGES = sorted(file.parent for file in SOURCE.rglob("__init__.py") if file.parent != SOURCE)
OF_THE_PROJECT = (".ci", "bench", "changes", "docs", "requirements", "src", "tests", "tools")
# Written so that this file does not match itself.
MACHINE_PATHS = re.compile(rb"(?<![\w.~*-])/(?:[w]ork/(?:main|shared)|[r]oot/|[o]pt/wheels)")
TARGETS = "demo test check bench test-full docs-check imports lint types fmt lock clean help".split()


def requirements(lock: Path) -> list[str]:
    """Return each requirement of a lock with its hashes, on one line."""
    lines = [line for line in lock.read_text().splitlines() if not line.lstrip().startswith("#")]
    return "\n".join(lines).replace("\\\n", " ").splitlines()


def files_of_the_project() -> Iterator[Path]:
    # In a linked work tree '.git' is a file, which names the clone.
    yield from (file for file in ROOT.iterdir() if file.is_file() and file.name != ".git")
    for folder in OF_THE_PROJECT:
        yield from (file for file in (ROOT / folder).rglob("*") if file.is_file() and file.suffix != ".pyc")


def test_there_is_a_lock_for_everything_that_is_installed() -> None:
    used = {"uv.lock", *(name for names in setup.LOCK_FILES.values() for name in names)}
    assert {lock.name for lock in LOCKS} == used == set(setup.LOCK_SOURCES)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_requirement_is_pinned_and_hashed(lock: Path) -> None:
    assert requirements(lock)
    for requirement in requirements(lock):
        assert re.match(r"[a-z0-9._-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", requirement), requirement


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_names_no_address(lock: Path) -> None:
    assert re.findall(r"https?:|://|index-url|find-links|trusted-host|file:|@ ", lock.read_text()) == []


def test_the_locks_agree_with_each_other() -> None:
    pins = {lock.name: {r.partition(" ")[0] for r in requirements(lock)} for lock in LOCKS}
    assert pins["server.lock"] <= pins["dev.lock"]


def test_no_file_names_a_place_on_one_machine() -> None:
    found = {str(file.relative_to(ROOT)) for file in files_of_the_project() if MACHINE_PATHS.search(file.read_bytes())}
    assert found == set()


@table("package", PACKAGES)
def test_a_package_says_what_it_may_touch(package: Path) -> None:
    docstring = ast.get_docstring(ast.parse((package / "__init__.py").read_bytes())) or ""
    assert re.search(r"\bmay\b|\btouch", docstring, re.IGNORECASE), f"'{docstring}'"


@table("target", TARGETS)
def test_make_knows_its_commands(target: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(rf"^{target}:.*## \w", makefile, re.MULTILINE)
    assert re.search(rf"^\.PHONY:.* {target}( |$)", makefile, re.MULTILINE)


@pytest.fixture
def a_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the files that set-up reads to another folder."""
    shutil.copytree(ROOT / "requirements", tmp_path / "requirements")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / "src" / "custody").mkdir(parents=True)
    shutil.copy(SOURCE / "__init__.py", tmp_path / "src" / "custody")
    monkeypatch.setattr(setup, "ROOT", tmp_path)
    return tmp_path


def test_an_environment_counts_only_once_it_was_finished(a_clone: Path) -> None:
    env = a_clone / ".venv"
    (env / "bin").mkdir(parents=True)
    assert not setup.is_made(env, "run")
    setup.finish(env, ["run"])
    assert setup.is_made(env, "run")
    assert not setup.is_made(env, "dev")


@pytest.mark.parametrize("changed", ["requirements/server.lock", "pyproject.toml", "src/custody/__init__.py"])
def test_an_environment_is_made_again_when_its_sources_change(a_clone: Path, changed: str) -> None:
    env = a_clone / ".venv"
    env.mkdir()
    setup.finish(env, ["run"])
    with (a_clone / changed).open("a") as end:
        end.write("\n# changed\n")
    assert not setup.is_made(env, "run")


def test_a_moved_environment_is_made_again(a_clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = a_clone / ".venv"
    env.mkdir()
    setup.finish(env, ["run"])
    shutil.copytree(a_clone, moved := a_clone.parent / "moved")
    monkeypatch.setattr(setup, "ROOT", moved)
    assert not setup.is_made(moved / ".venv", "run")


PIP_SAYS = """\
:env:.index-url='https://mirror.invalid/simple'
global.cert='/etc/certificates.pem'
global.timeout='60'
"""


def test_uv_gets_the_settings_of_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    for setting in setup.PIP_TO_UV.values():
        monkeypatch.delenv(setting, raising=False)
    assert setup.in_words_of_uv(PIP_SAYS) == {
        "UV_DEFAULT_INDEX": "https://mirror.invalid/simple",
        "SSL_CERT_FILE": "/etc/certificates.pem",
    }


def test_the_settings_of_uv_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://own.invalid/simple")
    assert "UV_DEFAULT_INDEX" not in setup.in_words_of_uv(PIP_SAYS)
