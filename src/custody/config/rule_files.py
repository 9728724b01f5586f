"""The files and variables that set rules, from the weakest to the strongest. Only this file decides the order.

defaults < the documents' files < [tool.custody] in pyproject.toml < custody.toml < the documents' variables < the
user's own file. docs/decisions/0010 has the reasons. A policy for a simulation is the strongest.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence

from custody.config.document_files import (
    DOCUMENT_PATHS,
    FileKeys,
    list_rule_documents,
    require_rule_table,
    rule_assignments_from_environment,
)
from custody.config.file_text import FILE_BYTES_MAX
from custody.config.rule import Assignment, EffectiveRules, IgnoredKey, RuleOrigin, RuleTables, overlay_rule_assignments
from custody.config.team_policy import TEAM_FILE, TEAM_TABLES, TeamPolicy, parse_team_policy
from custody.core.errors import InputError, WorldError
from custody.core.paths import RepoPath
from custody.core.platform import CLOEXEC, NOCTTY, NONBLOCK
from custody.core.wire.report import RulesSource

BELOW = "custody/config.toml"

_FLAGS = os.O_RDONLY | NONBLOCK | NOCTTY | CLOEXEC
_ABSENT = (errno.ENOENT, errno.ENOTDIR)


def find_user_rule_file(environment: Mapping[str, str]) -> str | None:
    """Return the path of the user's own file, even if it does not exist; None without a home."""
    home = environment.get("HOME", "")
    base = environment.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):  # the specification: a relative one is to be ignored
        base = os.path.join(home, ".config")
    return os.path.join(base, BELOW) if os.path.isabs(base) else None


def format_rule_file_path(path: str, environment: Mapping[str, str]) -> str:
    """Return ``path`` as the user would write it."""
    home = environment.get("HOME", "")
    below = home.rstrip("/") + "/"
    return "~/" + path[len(below) :] if os.path.isabs(home) and path.startswith(below) else path


def read_user_rule_file(path: str, name: str) -> bytes | None:
    """Return the bytes of the user's file, following links; None if it does not exist."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise WorldError(f"cannot read '{name}': {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InputError(f"'{name}' is not a regular file", hint="replace it with a file of rules, or remove it")
        # One byte over the limit, so that a longer file is detected.
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(FILE_BYTES_MAX + 1)
    finally:
        os.close(descriptor)


RuleFileReader = Callable[[RepoPath], bytes | None]
"""Returns the bytes of a repository's file, None if it does not exist; raises an error unless it is a regular file."""

RuleFileContent = tuple[RulesSource, Sequence[Assignment | IgnoredKey]]


def list_rule_files() -> tuple[RepoPath, ...]:
    """Return the files of a repository that may set rules."""
    return tuple(RepoPath.of(name) for name in (*DOCUMENT_PATHS, "pyproject.toml", "custody.toml"))


def load_rule_files(
    tables: RuleTables, read: RuleFileReader, environment: Mapping[str, str], policy: str | None = None
) -> tuple[EffectiveRules, tuple[RulesSource, ...]]:
    """Return the rules in force for the files that ``read`` returns, and a user with this ``environment``.

    With ``policy``, the path of a file like custody.toml, return the rules with that file applied.
    """
    contents = [
        *_read_document_rules(tables, read),
        _read_toml_rules(tables, "pyproject.toml", read(RepoPath.of("pyproject.toml")), ("tool", "custody")),
        _read_toml_rules(tables, TEAM_FILE, read(RepoPath.of(TEAM_FILE))),
        _read_variable_rules(environment),
        *_read_user_rules(tables, environment),
        *_read_policy_rules(tables, policy),
    ]
    effective = overlay_rule_assignments(tables, (entry for _, entries in contents for entry in entries))
    return effective, tuple(source for source, _ in contents)


def _read_document_rules(tables: RuleTables, read: RuleFileReader) -> Iterator[RuleFileContent]:
    for number, path in enumerate(DOCUMENT_PATHS):
        data = read(RepoPath.of(path))
        if data is None:
            yield RulesSource(path, "absent"), []
            continue
        from custody.config.yaml_reader import parse_rule_yaml

        document = list_rule_documents(tables)[number]
        entries = document.read(parse_rule_yaml(document.path, data))
        yield (
            (RulesSource(document.path, "foreign"), [])
            if entries is None
            else _make_rule_file_content(document.path, entries)
        )


def _make_rule_file_content(file: str, entries: Sequence[Assignment | IgnoredKey]) -> RuleFileContent:
    return RulesSource(file, "read", sum(isinstance(entry, Assignment) for entry in entries)), entries


def _read_variable_rules(environment: Mapping[str, str]) -> RuleFileContent:
    assignments = rule_assignments_from_environment(environment)
    return RulesSource("environment", "read" if assignments else "absent", len(assignments)), assignments


def _read_user_rules(tables: RuleTables, environment: Mapping[str, str]) -> Iterator[RuleFileContent]:
    if path := find_user_rule_file(environment):
        name = format_rule_file_path(path, environment)
        yield _read_toml_rules(tables, name, read_user_rule_file(path, name), is_users=True)


def _read_policy_rules(tables: RuleTables, path: str | None) -> Iterator[RuleFileContent]:
    if path is not None:
        data = read_user_rule_file(path, path)
        if data is None:
            raise InputError(f"cannot find '{path}'", hint="a policy is a file like custody.toml, with [trust]")
        yield _read_toml_rules(tables, path, data, is_users=True)


def _read_toml_rules(
    tables: RuleTables, file: str, data: bytes | None, above: tuple[str, ...] = (), *, is_users: bool = False
) -> RuleFileContent:
    if data is None:
        return RulesSource(file, "absent"), []
    from custody.config.file_text import parse_rule_toml

    values: Mapping[str, object] = parse_rule_toml(file, data)
    for depth, key in enumerate(above, start=1):
        if key not in values:
            return RulesSource(file, "foreign"), []
        values = require_rule_table(values[key], RuleOrigin(file, ".".join(above[:depth])))
    if file == TEAM_FILE and not is_users:
        parse_team_policy(values)  # an invalid list of stores is an error for every verb, not only for the gate
        values = {key: value for key, value in values.items() if key not in TEAM_TABLES}
    keys = FileKeys(file, tables.rules, tables.dropped, is_users=is_users, above="".join(f"{key}." for key in above))
    return _make_rule_file_content(file, list(keys.settings(values)))


def load_team_policy(read: RuleFileReader) -> TeamPolicy:
    """Return the stores and reviewers that the repository's ``custody.toml`` lists."""
    data = read(RepoPath.of(TEAM_FILE))
    if data is None:
        return TeamPolicy()
    from custody.config.file_text import parse_rule_toml

    return parse_team_policy(parse_rule_toml(TEAM_FILE, data))
