"""A copy of the tree in which a test plants violations and runs the real tools."""

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


def names(contract: str, option: str) -> set[str]:
    """Return the names in a contract's option, on one line or several."""
    return set(CONTRACTS[contract].get(option, "").replace("|", " ").split())


class House:
    """A copy of the tree with its settings, and the tools that check it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._before: dict[Path, bytes | None] = {}
        shutil.copytree(ROOT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "tools", root / "tools", ignore=shutil.ignore_patterns("__pycache__"))
        for name in (".importlinter", "pyproject.toml"):
            shutil.copy(ROOT / name, root)

    def plant(self, path: str, code: str) -> Path:
        """Add ``code`` to the end of a file of ``src/custody``; the file and its package are created if missing."""
        file = self.root / "src" / "custody" / path
        assert not file.parent.with_suffix(".py").exists(), f"a package would hide the module of '{path}'"
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.parent.name != "custody":
            self._append(file.parent / "__init__.py", "")
        return self._append(file, f"\n{code}\n")

    def _append(self, file: Path, text: str) -> Path:
        self._before.setdefault(file, file.read_bytes() if file.exists() else None)
        with file.open("a") as end:
            end.write(text)
        return file

    def restore(self) -> None:
        """Undo every plant."""
        for file, before in self._before.items():
            if before is None:
                file.unlink()
            else:
                file.write_bytes(before)
        for folder in {file.parent for file in self._before}:
            shutil.rmtree(folder / "__pycache__", ignore_errors=True)
            if not any(folder.iterdir()):
                folder.rmdir()
        self._before.clear()

    def imports(self) -> str:
        """Return the report of import-linter."""
        return self._run("lint-imports", "--no-logo", "--no-cache")

    def ruff(self, *options: str) -> str:
        """Return the findings of ruff, one per line."""
        return self._run("ruff", "check", "--no-cache", "--output-format", "concise", *options)

    def mypy(self, *paths: str) -> str:
        """Return the report of mypy."""
        return self._run("mypy", "--no-incremental", *paths)

    def _run(self, tool: str, *options: str) -> str:
        command = [str(Path(sys.executable).with_name(tool)), *options]
        surroundings = os.environ | {"PYTHONPATH": str(self.root / "src"), "COLUMNS": "200"}
        done = subprocess.run(
            command, cwd=self.root, env=surroundings, capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode in (0, 1), f"{tool} did not run: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr
