"""From the weakest place where rules are set to the strongest; this file is the only one that decides the order.

defaults < the documents' files < [tool.custody] in pyproject.toml < custody.toml < the documents' variables < the
user's own file. docs/decisions/0010 says why. A policy that is only tried out stands above all of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from custody.config.document_files import DOCUMENT_PATHS, documents, from_environment
from custody.config.overlay import EffectiveRules, overlay
from custody.config.rule import Assignment, IgnoredKey, RuleOrigin
from custody.config.rule_tables import RuleTables
from custody.config.table_walk import FileKeys, table_at
from custody.config.user_file import read_user_file, shown_path, user_file
from custody.core.errors import InputError
from custody.core.paths import RepoPath
from custody.core.wire.report import RulesSource

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
    from custody.config.toml_reader import parse_toml

    values: Mapping[str, object] = parse_toml(file, data)
    for depth, key in enumerate(above, start=1):
        if key not in values:
            return RulesSource(file, "foreign"), []
        values = table_at(values[key], RuleOrigin(file, ".".join(above[:depth])))
    keys = FileKeys(file, tables.rules, tables.dropped, is_users=is_users, above="".join(f"{key}." for key in above))
    return _read(file, list(keys.settings(values)))
