"""Where the versions of a file come from: a repository's real history, or templates."""

import subprocess
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random

from bench.attribution import templates
from bench.bars import BenchError

ENDINGS = (".py", ".js", ".ts", ".go", ".rs", ".rb", ".java", ".c", ".md", ".rst", ".toml")
COMMITS_LOOKED_AT = 4_000
LINES_MAX = 1_200

Versions = Callable[[Random, int], tuple[str, list[str]]]
"""Returns the name of a random file and some of its versions."""


def from_templates(random: Random, count: int) -> tuple[str, list[str]]:
    """Return a generated file."""
    made = templates.versions(random, count)
    return ("app.js" if "export function" in made[0] else "app.py"), made


def from_repository(git_dir: Path) -> Versions:
    """Files of one repository, each with consecutive versions as they were committed."""

    def draw(random: Random, count: int) -> tuple[str, list[str]]:
        for name in random.sample(busy_files(git_dir, count), k=min(20, len(busy_files(git_dir, count)))):
            commits = _commits(git_dir, name)
            start = random.randrange(max(1, len(commits) - count + 1))
            found = [text for sha in commits[start : start + count] if (text := _content(git_dir, sha, name))]
            fits = all(text.count("\n") <= LINES_MAX for text in found)
            if len(found) == count and fits:
                return name, found
        raise BenchError(f"no file in '{git_dir}' has {count} versions that can be replayed")

    return draw


@cache
def busy_files(git_dir: Path, count: int) -> list[str]:
    """Text files that at least ``count`` of the last commits changed."""
    said = _git(git_dir, "log", "--no-merges", f"-{COMMITS_LOOKED_AT}", "--format=", "--name-only", "-z", "HEAD")
    often = Counter(name for name in said.decode(errors="replace").replace("\n", "").split("\0") if name)
    return sorted(name for name, times in often.items() if times >= count and name.endswith(ENDINGS))


@cache
def _commits(git_dir: Path, name: str) -> list[str]:
    words = ("log", "--no-merges", "--reverse", f"-{COMMITS_LOOKED_AT}", "--format=%H", "HEAD", "--", name)
    return _git(git_dir, *words).decode().split()


def _content(git_dir: Path, sha: str, name: str) -> str | None:
    """Return a version as text; None if it is missing, binary, or has unusual line ends."""
    done = subprocess.run(
        ["git", "--git-dir", str(git_dir), "cat-file", "blob", f"{sha}:{name}"], capture_output=True, check=False
    )
    try:
        text = done.stdout.decode()
    except UnicodeDecodeError:
        return None  # a binary file has no lines
    plain = text.endswith("\n") and not set(text) & {"\r", "\0", "\f", "\v", "\x85", "\u2028", "\u2029"}
    return text if not done.returncode and plain else None


def _git(git_dir: Path, *words: str) -> bytes:
    done = subprocess.run(["git", "--git-dir", str(git_dir), *words], capture_output=True, check=False)
    if done.returncode:
        raise BenchError(f"git says of '{git_dir}': {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
