"""What the index and the configuration say about a work tree: which files are tracked, where a setting comes from.

``open`` in surroundings.py. Listing the index reads no file of the work tree, so no filter runs; printing a setting
uses none of what it names.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from custody.core.paths import RepoPath
from custody.git.argument import pathspecs
from custody.git.chunk_reader import repo_path, rubbish
from custody.git.command import Git

OUR_OWN = b"command"
"""The scope of the settings that this door itself gives on the command line."""


def list_tracked(git: Git, paths: Iterable[RepoPath]) -> frozenset[RepoPath]:
    """The files in the index at or below ``paths``; no paths, no files."""
    wanted = list(paths)
    if not wanted:
        return frozenset()
    return parse_tracked(git.run("ls-files", "-z", "--cached", "--full-name", *pathspecs(wanted)))


def path_setting(git: Git, name: str) -> Path | None:
    """The setting ``name``, a path, as it is in force without us; ``~`` is replaced."""
    return parse_setting(git.run("config", "-z", "--show-scope", "--type=path", "--get-all", name, fine=(0, 1)))


def parse_tracked(answer: bytes) -> frozenset[RepoPath]:
    """The files that ``git ls-files -z`` names."""
    return frozenset(repo_path(path) for path in answer.split(b"\0") if path)


def parse_setting(answer: bytes) -> Path | None:
    """The last of the values in ``git config -z --show-scope --get-all`` that is not ours."""
    fields = answer.split(b"\0")
    if fields.pop() or len(fields) % 2:
        raise rubbish("scopes and values are expected", answer)
    values = [value for scope, value in zip(fields[::2], fields[1::2], strict=True) if scope != OUR_OWN]
    return Path(os.fsdecode(values[-1])) if values else None
