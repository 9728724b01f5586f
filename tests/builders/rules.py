"""Rules for tests: every number of a class with a value that it cannot have, and files that set rules."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from custody.core.errors import RulesError
from custody.core.paths import RepoPath
from custody.core.wire.canonical import Rules

Files = Mapping[str, bytes | str]


def reader(files: Files) -> Callable[[RepoPath], bytes | None]:
    """Return a repository that has these files."""

    def read(path: RepoPath) -> bytes | None:
        content = files.get(str(path))
        return content.encode() if isinstance(content, str) else content

    return read


def toml_value(value: object) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def toml(values: Mapping[str, object], above: str = "") -> str:
    """Return rules by their dotted names as a file, one key per line."""
    return "".join(f"{above}{name} = {toml_value(value)}\n" for name, value in values.items())


def home_with(folder: Path, text: str | None) -> dict[str, str]:
    """Return the environment of a user whose own file has this text."""
    if text is not None:
        file = folder / "config" / "custody" / "config.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}


def taken_though_impossible(kind: type[Rules]) -> list[dict[str, Any]]:
    """Return the arguments that ``kind`` accepts although a number is negative, infinite or NaN."""
    defaults = {name: getattr(kind(), name) for name in kind.__struct_fields__}
    wrong = (-1, float("inf"), float("nan"))
    tried = [{name: value} for name, default in defaults.items() for bad in wrong for value in _with(default, bad)]
    numbers = {name for name, hint in get_type_hints(kind).items() if re.search(r"\b(int|float)\b", str(hint))}
    assert {name for arguments in tried for name in arguments} == numbers != set()
    return [arguments for arguments in tried if not _is_refused(kind, arguments)]


def _is_refused(kind: type[Rules], arguments: dict[str, Any]) -> bool:
    try:
        kind(**arguments)
    except RulesError as error:
        return any(f".{name}" in error.rule for name in arguments)
    return False


def _with(default: object, bad: float) -> Iterator[object]:
    if isinstance(default, int | float) and not isinstance(default, bool):
        yield bad
    elif isinstance(default, tuple) and default and not isinstance(default[0], str):
        for place in range(len(default)):
            yield (*default[:place], bad, *default[place + 1 :])
    elif isinstance(default, Mapping):
        for key, value in default.items():
            yield from ({**default, key: changed} for changed in _with(value, bad))
