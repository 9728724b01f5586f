"""``python -m bench install-size``: what an installation costs, plain and with each extra.

    python -m bench install-size                     plain and every extra
    python -m bench install-size --only plain,mcp --json FILE

Builds the wheel and installs it into a fresh environment each time; needs the package index, or a cache of it.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TextIO

from bench.bars import BenchError
from bench.columns import columns
from bench.progress import Progress
from tools import setup

ROOT = Path(__file__).resolve().parents[1]
PLAIN = "plain"
STARTS = 9
"""Starts of each program: the ratio is the median of the pairs."""
CLOSURE = """
import json, re, sys
from importlib.metadata import distributions
def key(text): return re.sub("[-_.]+", "-", re.match("[A-Za-z0-9._-]+", text)[0]).lower()
needs = {key(d.metadata["Name"]): {key(r) for r in d.requires or () if "extra ==" not in r} for d in distributions()}
sizes = {key(d.metadata["Name"]): sum(p.locate().stat().st_size for p in d.files or () if p.locate().is_file())
         for d in distributions()}
def reach(without):
    seen, todo = set(), ["git-custody"]
    while todo:
        name = todo.pop()
        if name in needs and name not in seen and name != without:
            seen.add(name)
            todo += needs[name]
    return seen
only = reach(None) - reach(sys.argv[1])
print(json.dumps({name: sizes[name] for name in sorted(only)}))
"""
"""Print the distributions that only the named one needs, with the bytes of each."""


@dataclass(frozen=True, slots=True)
class InstallSize:
    """An environment with custody and at most one extra."""

    extra: str
    megabytes: float
    distributions: int
    start_ratio: float
    """The time of ``custody --help`` over that of ``python -c pass``."""


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Measure each environment and print the table; return 1 if one could not be made."""
    out, err = out or sys.stdout, err or sys.stderr
    args = _arguments().parse_args(argv)
    wanted = args.only.split(",") if args.only else [PLAIN, *list_extras()]
    with tempfile.TemporaryDirectory(prefix="custody-install-") as folder, Progress(err) as tell:
        try:
            wheel = build_wheel(Path(folder))
            sizes, through = [], dict[str, int]()
            for extra in wanted:
                tell(f"installing {extra}")
                python = make_environment(Path(folder) / extra, wheel, extra, args.python)
                sizes.append(_measure_environment(extra, python))
                if extra == PLAIN:
                    through = _list_only_through(python, "litestar")
        except BenchError as error:
            err.write(f"{error}\n")
            return 1
    rows = [(size.extra, f"{size.megabytes:.1f}", str(size.distributions), f"{size.start_ratio:.1f}") for size in sizes]
    out.write(columns(("install", "MB", "distributions", "start"), rows))
    if through:
        names = ", ".join(f"{name} {size / 1e6:.1f}" for name, size in through.items())
        out.write(f"\nonly through litestar, {sum(through.values()) / 1e6:.1f} MB: {names}\n")
    if args.json:
        found = {"installs": [asdict(size) for size in sizes], "only_through_litestar": through}
        Path(args.json).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench install-size", description="Measure installations.")
    parser.add_argument("--only", metavar="NAMES", help="plain and extras, separated by commas (default: all)")
    parser.add_argument("--python", default=sys.executable, metavar="PATH", help="the interpreter to install for")
    parser.add_argument("--json", metavar="FILE", help="write the results as JSON too")
    return parser


def list_extras() -> list[str]:
    """Return the names of the extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return sorted(project["optional-dependencies"])


def build_wheel(folder: Path) -> Path:
    """Build the wheel of this tree into ``folder``."""
    run_step([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)], cwd=ROOT)
    (wheel,) = folder.glob("git_custody-*.whl")
    return wheel


def make_environment(home: Path, wheel: Path, extra: str = PLAIN, python: str = sys.executable) -> Path:
    """Install the wheel with an extra into a new environment; return its interpreter."""
    installer = str(setup.uv())
    asked = str(wheel) if extra == PLAIN else f"{wheel}[{extra}]"
    run_step([installer, "venv", "--quiet", "--clear", "--no-python-downloads", "--python", python, str(home)])
    made = home / "bin" / "python"
    options = ["--quiet", "--compile-bytecode", "--link-mode", "copy", "--python", str(made)]
    run_step([installer, "pip", "install", *options, asked])
    return made


def run_step(command: Sequence[str], cwd: Path | None = None) -> str:
    """Run a program that must succeed; return what it printed."""
    unset = ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= setup.in_words_of_uv(setup.ask_pip())
    ran = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise BenchError(f"'{' '.join(command[:3])}' exited with {ran.returncode}: {ran.stderr[-300:]}")
    return ran.stdout


def _measure_environment(extra: str, python: Path) -> InstallSize:
    home = python.parents[1]
    files = [path for path in home.rglob("*") if path.is_file() and not path.is_symlink()]
    distributions = [path for path in home.rglob("*.dist-info") if path.is_dir()]
    size = sum(path.stat().st_size for path in files if path.suffix != ".pyc")
    return InstallSize(extra, size / 1e6, len(distributions), _measure_start(python))


def _measure_start(python: Path) -> float:
    custody = str(python.with_name("custody"))
    return statistics.median(
        _time_program([custody, "--help"]) / _time_program([str(python), "-c", "pass"]) for _ in range(STARTS)
    )


def _time_program(command: Sequence[str]) -> float:
    before = time.perf_counter()
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if run.returncode:
        raise BenchError(f"'{command[0]}' exited with {run.returncode}")
    return time.perf_counter() - before


def _list_only_through(python: Path, name: str) -> dict[str, int]:
    found = json.loads(run_step([str(python), "-c", CLOSURE, name]))
    return {str(key): int(size) for key, size in found.items()}
