"""Reports as files: read whole, written whole or not at all; and the rules by which they are looked at."""

import os
import stat
from dataclasses import replace
from pathlib import Path

from custody.cite.rules import CiteRules
from custody.core.errors import InputError
from custody.workspace.atomic_file import open_atomic
from custody.workspace.rules_in_force import load_rules, load_user_rules
from custody.workspace.workspace import Workspace

STDIN = "-"
FILE_BYTES_MAX = 64 * 1024 * 1024
"""A larger file is no report."""


def rules_for(workspace: Workspace, coverage_min: float | None = None) -> CiteRules:
    """The rules in force; outside a repository those of the user. ``coverage_min`` stands above both."""
    rules = _in_force(workspace)
    return rules if coverage_min is None else replace(rules, coverage_min=coverage_min)


def _in_force(workspace: Workspace) -> CiteRules:
    try:
        workspace.repository  # noqa: B018 - only whether there is one
    except InputError:
        # A report may lie anywhere: without a repository there are no rules of one.
        return load_user_rules(workspace).of(CiteRules)
    return load_rules(workspace)[0].of(CiteRules)


def read_report(workspace: Workspace, name: str, stdin: bytes) -> bytes:
    """The bytes of a report; ``-`` is what came in."""
    if name == STDIN:
        return _checked(name, stdin)
    path = workspace.folder / name
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(f"'{name}' is no file", hint="name Markdown files, or - for what is piped in")
        if path.stat().st_size > FILE_BYTES_MAX:
            raise _too_large(name)
        return _checked(name, path.read_bytes())
    except OSError as error:
        raise InputError(
            f"cannot read '{name}': {error.strerror}", hint="name Markdown files that can be read"
        ) from error


def write_report(path: Path, data: bytes) -> None:
    """Put ``data`` in a file that keeps its mode, whole or not at all; a link's target is what is written."""
    place = path.resolve()
    with open_atomic(place, named=path) as out:
        if place.exists():
            os.fchmod(out.fileno(), stat.S_IMODE(place.stat().st_mode))
        out.write(data)


def _checked(name: str, data: bytes) -> bytes:
    if len(data) > FILE_BYTES_MAX:
        raise _too_large(name)
    return data


def _too_large(name: str) -> InputError:
    return InputError(
        f"'{name}' is larger than {FILE_BYTES_MAX:,} bytes", hint="a report is a text that a person reads"
    )
