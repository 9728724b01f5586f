"""From the weakest place where rules are set to the strongest; this file is the only one that decides the order.

defaults < the documents' files < [tool.custody] in pyproject.toml < custody.toml < the documents' variables < the
user's own file. docs/decisions/0010 says why. A policy that is only tried out stands above all of them.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence

from custody.config.document_files import DOCUMENT_PATHS, FileKeys, documents, from_environment, table_at
from custody.config.file_text import FILE_BYTES_MAX
from custody.config.rule import Assignment, EffectiveRules, IgnoredKey, RuleOrigin, RuleTables, overlay
from custody.core.errors import InputError, WorldError
from custody.core.paths import RepoPath
from custody.core.wire.report import RulesSource

# The user's own file: where it is, and its bytes.


BELOW = "custody/config.toml"

_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


def user_file(environment: Mapping[str, str]) -> str | None:
    """The path of the user's own file, whether it is there or not; None where there is no home."""
    home = environment.get("HOME", "")
    base = environment.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):  # the specification: a relative one is to be ignored
        base = os.path.join(home, ".config")
    return os.path.join(base, BELOW) if os.path.isabs(base) else None


def shown_path(path: str, environment: Mapping[str, str]) -> str:
    """``path`` as the user would write it."""
    home = environment.get("HOME", "")
    below = home.rstrip("/") + "/"
    return "~/" + path[len(below) :] if os.path.isabs(home) and path.startswith(below) else path


def read_user_file(path: str, name: str) -> bytes | None:
    """The bytes of the user's file, None if there is none; links are the user's own and are followed."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise WorldError(f"cannot read '{name}': {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(f"'{name}' is not a regular file", hint="put a file of rules there, or nothing")
        # One byte more than may be there, so that a longer file is seen to be one.
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(FILE_BYTES_MAX + 1)
    finally:
        os.close(descriptor)


RuleFileReader = Callable[[RepoPath], bytes | None]
"""Gives the bytes of a repository's file, None if there is none; refuses what is no regular file of the repository."""

RuleFileContent = tuple[RulesSource, Sequence[Assignment | IgnoredKey]]


def rule_files() -> tuple[RepoPath, ...]:
    """The files of a repository that may set rules."""
    return tuple(RepoPath.of(name) for name in (*DOCUMENT_PATHS, "pyproject.toml", "custody.toml"))


def load(
    tables: RuleTables, read: RuleFileReader, environment: Mapping[str, str], policy: str | None = None
) -> tuple[EffectiveRules, tuple[RulesSource, ...]]:
    """The rules in force in a repository whose files ``read`` gives, for a user with this ``environment``.

    With ``policy``, the path of a file as custody.toml is, the rules as they would be with it.
    """
    found = [
        *_of_documents(tables, read),
        _of_toml(tables, "pyproject.toml", read(RepoPath.of("pyproject.toml")), ("tool", "custody")),
        _of_toml(tables, "custody.toml", read(RepoPath.of("custody.toml"))),
        _of_variables(environment),
        *_of_user(tables, environment),
        *_of_policy(tables, policy),
    ]
    effective = overlay(tables, (entry for _, entries in found for entry in entries))
    return effective, tuple(source for source, _ in found)


def _of_documents(tables: RuleTables, read: RuleFileReader) -> Iterator[RuleFileContent]:
    for document in documents(tables):
        data = read(RepoPath.of(document.path))
        if data is None:
            yield RulesSource(document.path, "absent"), []
            continue
        from custody.config.yaml_reader import parse_yaml

        entries = document.read(parse_yaml(document.path, data))
        yield (RulesSource(document.path, "foreign"), []) if entries is None else _read(document.path, entries)


def _read(file: str, entries: Sequence[Assignment | IgnoredKey]) -> RuleFileContent:
    return RulesSource(file, "read", sum(isinstance(entry, Assignment) for entry in entries)), entries


def _of_variables(environment: Mapping[str, str]) -> RuleFileContent:
    assignments = from_environment(environment)
    return RulesSource("environment", "read" if assignments else "absent", len(assignments)), assignments


def _of_user(tables: RuleTables, environment: Mapping[str, str]) -> Iterator[RuleFileContent]:
    if path := user_file(environment):
        name = shown_path(path, environment)
        yield _of_toml(tables, name, read_user_file(path, name), is_users=True)


def _of_policy(tables: RuleTables, path: str | None) -> Iterator[RuleFileContent]:
    if path is not None:
        data = read_user_file(path, path)
        if data is None:
            raise InputError(f"there is no file '{path}'", hint="a policy is a file like custody.toml, with [trust]")
        yield _of_toml(tables, path, data, is_users=True)


def _of_toml(
    tables: RuleTables, file: str, data: bytes | None, above: tuple[str, ...] = (), *, is_users: bool = False
) -> RuleFileContent:
    if data is None:
        return RulesSource(file, "absent"), []
    from custody.config.file_text import parse_toml

    values: Mapping[str, object] = parse_toml(file, data)
    for depth, key in enumerate(above, start=1):
        if key not in values:
            return RulesSource(file, "foreign"), []
        values = table_at(values[key], RuleOrigin(file, ".".join(above[:depth])))
    keys = FileKeys(file, tables.rules, tables.dropped, is_users=is_users, above="".join(f"{key}." for key in above))
    return _read(file, list(keys.settings(values)))
