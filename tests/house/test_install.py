"""The built package installs by its name with every common installer, and then works."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.house.not_run import not_run
from tools import setup

ROOT = Path(__file__).resolve().parents[2]
VERSION = "custody, version 0.1.0\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True, capture_output=True
    )
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("git_custody-*.whl")
    return found


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment with an empty home, and uv set to the index that pip uses here."""
    home = tmp_path_factory.mktemp("home")
    shared = {name: value for name, value in os.environ.items() if not name.startswith(("VIRTUAL_ENV", "PYTHON"))}
    return {
        **shared,
        **setup.in_words_of_uv(setup.ask_pip()),
        "HOME": str(home),
        "UV_CACHE_DIR": str(home / "cache"),
        "UV_TOOL_DIR": str(home / "tools"),
        "UV_TOOL_BIN_DIR": str(home / "bin"),
        "UV_PYTHON": sys.executable,
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_LINK_MODE": "hardlink",
        "PIPX_HOME": str(home / "pipx"),
        "PIPX_BIN_DIR": str(home / "pipx-bin"),
        "PIPX_DEFAULT_PYTHON": sys.executable,
    }


@pytest.fixture(scope="module")
def uv() -> str:
    try:
        return str(setup.uv())
    except (OSError, SystemExit, subprocess.CalledProcessError) as error:
        not_run("uv", error)


def run(environment: dict[str, str], *command: str | Path, folder: Path | None = None) -> str:
    ran = subprocess.run(
        [str(word) for word in command], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    if ran.returncode and ("dns error" in ran.stderr or "Temporary failure in name resolution" in ran.stderr):
        not_run("the package index", ran.stderr.splitlines()[-1])
    assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        info = message_from_bytes(archive.read("git_custody-0.1.0.dist-info/METADATA"))
        scripts = archive.read("git_custody-0.1.0.dist-info/entry_points.txt").decode()
    assert (info["Name"], info["License-Expression"]) == ("git-custody", "Apache-2.0")
    assert "custody = custody.cli.main:run\ngit-custody = custody.cli.main:run" in scripts
    assert "git_custody-0.1.0.dist-info/licenses/LICENSE" in names
    man = {Path(name).name for name in names if "/share/man/man1/" in name}
    assert {"custody.1", "git-custody.1", "custody-blame.1", "custody-why.1"} <= man
    assert any(name.endswith("/share/man/man7/custody-certainty.7") for name in names)
    assert "custody/cli/help_topics/certainty.txt" in names
    assert not any(name.startswith("tests/") or name.endswith(".ts") for name in names)


def test_the_source_archive_builds_the_same_package(built: Path) -> None:
    (archive,) = built.glob("git_custody-*.tar.gz")
    with tarfile.open(archive) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "src/custody/cli/main.py"} <= names
    assert not any(name.startswith(("tests/", "bench/", "web/", ".venv/")) for name in names)


def test_uv_tool_and_uvx_run_it(wheel: Path, uv: str, environment: dict[str, str]) -> None:
    run(environment, uv, "tool", "install", "--quiet", wheel)
    commands = Path(environment["UV_TOOL_BIN_DIR"])
    assert run(environment, commands / "custody", "--version") == VERSION
    assert run(environment, uv, "tool", "run", "--quiet", "--from", wheel, "git-custody", "--version") == VERSION


def test_pipx_installs_it_and_git_finds_it(wheel: Path, uv: str, environment: dict[str, str]) -> None:
    run(environment, uv, "tool", "run", "--quiet", "pipx", "install", "--quiet", wheel)
    commands = environment["PIPX_BIN_DIR"]
    found = {**environment, "PATH": f"{commands}{os.pathsep}{environment['PATH']}"}
    assert run(found, "git", "custody", "--version") == VERSION
    pages = Path(environment["PIPX_HOME"]) / "venvs" / "git-custody" / "share" / "man" / "man1"
    assert (pages / "git-custody.1").read_text() == ".so man1/custody.1\n"


def test_a_plain_install_answers_every_question(
    wheel: Path, uv: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """Check that the demo and the service run without extras."""
    home = tmp_path / "env"
    run(environment, uv, "venv", "--quiet", home)
    run(environment, uv, "pip", "install", "--quiet", "--python", home / "bin" / "python", wheel)
    python = home / "bin" / "python"
    assert "every result as expected" in run(environment, home / "bin" / "custody", "demo", "--plain", folder=tmp_path)
    assert run(environment, python, "-c", "import custody.server.listener, uvicorn, litestar") == ""
    shutil.rmtree(home)


def test_every_manual_page_is_well_formed(tmp_path: Path) -> None:
    groff = shutil.which("groff")
    shutil.copytree(ROOT / "docs" / "reference" / "man", tmp_path / "man1")
    shutil.copytree(ROOT / "docs" / "reference" / "man7", tmp_path / "man7")
    for page in sorted((*(tmp_path / "man1").iterdir(), *(tmp_path / "man7").iterdir())):
        text = page.read_text("ascii")
        # 'git custody --help' opens a page that includes another by its path below the folder of manuals.
        assert text.startswith((".TH ", ".so man1/")), page.name
        if groff is not None:
            command = [groff, "-s", "-man", "-ww", "-Tutf8", str(page)]
            ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
            assert (ran.returncode, ran.stderr) == (0, ""), page.name
