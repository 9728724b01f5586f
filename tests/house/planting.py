"""A copy of the house in which a test can plant a violation and let the real tool look at it."""

import configparser
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

IMPORTS = configparser.ConfigParser()
IMPORTS.read(ROOT / ".importlinter")
CONTRACTS: Mapping[str, Mapping[str, str]] = {
    section.rpartition(":")[2]: IMPORTS[section] for section in IMPORTS.sections() if ":contract:" in section
}

STRICT_RUFF: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["ruff"]
WORLDLY_RUFF: dict[str, Any] = tomllib.loads((ROOT / "tools/ruff-worldly.toml").read_text())


def rows(contract: str, option: str) -> list[str]:
    """The lines of a contract's option."""
    return CONTRACTS[contract].get(option, "").split("\n")


def names(contract: str, option: str) -> set[str]:
    """The names in a contract's option, however they are set out."""
    return set(CONTRACTS[contract].get(option, "").replace("|", " ").split())


class House:
    """A copy of the tree with its settings, and the tools that look at it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        for name in (".importlinter", "pyproject.toml"):
            shutil.copy(ROOT / name, root)

    def plant(self, path: str, code: str) -> Path:
        """Add ``code`` to the end of a file of ``src/custody``, made (with its room) if it is not there."""
        file = self.root / "src" / "custody" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.parent.name != "custody":
            (file.parent / "__init__.py").touch()
        with file.open("a") as end:
            end.write(f"\n{code}\n")
        return file

    def imports(self) -> str:
        """What import-linter says."""
        return self._run("lint-imports", "--no-logo", "--no-cache")

    def ruff(self, *options: str) -> str:
        """What ruff says, one finding a line."""
        return self._run("ruff", "check", "--no-cache", "--output-format", "concise", *options)

    def mypy(self, *paths: str) -> str:
        """What mypy says."""
        return self._run("mypy", "--no-incremental", *paths)

    def _run(self, tool: str, *options: str) -> str:
        command = [str(Path(sys.executable).with_name(tool)), *options]
        surroundings = os.environ | {"PYTHONPATH": str(self.root / "src"), "COLUMNS": "200"}
        done = subprocess.run(
            command, cwd=self.root, env=surroundings, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode in (0, 1), f"{tool} did not run: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr
