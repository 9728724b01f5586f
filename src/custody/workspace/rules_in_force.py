"""Which rules are in force here, and where each was set."""

import os
import stat
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from custody.config import (
    FILE_BYTES_MAX,
    EffectiveRules,
    RuleFileReader,
    Setting,
    load,
    nearest,
    rule_files,
)
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.wire.body import digest_text
from custody.core.wire.canonical import rule_value, rules_digest
from custody.core.wire.report import RuleInForce, RulesReport, RulesSource
from custody.git import NoObject, Object, ObjectReader, Repository, WorkFile
from custody.workspace.wiring import rule_tables
from custody.workspace.workspace import Workspace


def rules(workspace: Workspace, table: str | None = None) -> RulesReport:
    """Every rule with its value and origin, perhaps of one table only, and the digests that evidence carries."""
    tables = rule_tables()
    if table is not None and table not in tables:
        raise InputError(f"no table of rules is named '{table}'", hint=f"the nearest is '{nearest(table, tables)}'")
    effective, sources = load_rules(workspace)
    shown = [table] if table is not None else list(tables)
    return RulesReport(
        rules=[_in_force(setting) for setting in effective.settings if setting.rule.table in shown],
        digests={name: digest_text(rules_digest({name: effective.tables[name]})) for name in shown},
        digest=digest_text(rules_digest(effective.tables)),
        sources=list(sources),
        warnings=[str(key) for key in effective.ignored],
    )


def load_rules(
    workspace: Workspace, environment: Mapping[str, str] = os.environ, policy: str | None = None
) -> tuple[EffectiveRules, tuple[RulesSource, ...]]:
    """Return the rules in force, perhaps with a policy; a team database outside a repository has no rule files."""

    def read() -> tuple[EffectiveRules, tuple[RulesSource, ...]]:
        return read_rules(
            _no_files if workspace.home is None else _work_tree(workspace.repository), environment, policy
        )

    effective, sources = workspace.once(("rules", workspace.folder, policy, frozenset(environment.items())), read)
    warn_of_ignored(workspace, effective)
    return effective, sources


def load_user_rules(workspace: Workspace) -> EffectiveRules:
    """Return the rules in force outside a repository: those of the user."""
    effective, _ = read_rules(_no_files, os.environ)
    warn_of_ignored(workspace, effective)
    return effective


def warn_of_ignored(workspace: Workspace, effective: EffectiveRules) -> None:
    """Warn of each key of a file that has no effect, once per command; a service's requests warn of nothing."""
    if workspace.resources is None:
        return
    for key in effective.ignored:
        workspace.once(("warning", key), partial(workspace.talk, f"warning: {key}"))


def loaded_at(
    repository: Repository, commit: CommitSha, environment: Mapping[str, str] = os.environ
) -> tuple[EffectiveRules, tuple[RulesSource, ...]]:
    """The rules as the files of a commit set them, for a user with this environment."""
    with repository.objects(FILE_BYTES_MAX) as objects:
        return read_rules(_commit(repository, objects, commit), environment)


def read_rules(
    read: RuleFileReader, environment: Mapping[str, str], policy: str | None = None
) -> tuple[EffectiveRules, tuple[RulesSource, ...]]:
    """The rules in force where ``read`` gives the files of a repository, for a user with this environment."""
    return load(rule_tables(), read, environment, policy)


def _commit(repository: Repository, objects: ObjectReader[Object], commit: CommitSha) -> RuleFileReader:
    with repository.tree(commit, rule_files()) as found:
        entries = {entry.path: entry for entry in found}

    def read(path: RepoPath) -> bytes | None:
        entry = entries.get(path)
        if entry is None:
            return None
        if not stat.S_ISREG(entry.mode):
            raise _unreadable(path, commit, "is no regular file")
        content = objects.read(entry.id)
        if isinstance(content, NoObject):  # what somebody meant to set is never passed over silently
            raise _unreadable(path, commit, f"is {content.reason}")
        return content.content

    return read


def _unreadable(path: RepoPath, commit: CommitSha, why: str) -> InputError:
    return InputError(f"'{path.display}' of {commit} {why}", hint="rules are read from regular files of the repository")


def _no_files(_path: RepoPath) -> None:
    return None


def _work_tree(repository: Repository) -> RuleFileReader:
    work_tree = repository.work_tree

    def read(path: RepoPath) -> bytes | None:
        if work_tree is None:
            return None  # a bare repository has no work tree to set rules in
        file = repository.work_file(path, FILE_BYTES_MAX)
        if isinstance(file, WorkFile):
            return file.content
        if not _is_there(work_tree, path):
            return None
        raise InputError(f"'{path.display}' {file.reason}", hint="rules are read from regular files of the repository")

    return read


def _is_there(work_tree: Path, path: RepoPath) -> bool:
    """Whether anything has that name, also behind a link: what somebody meant to set is never passed over silently."""
    return os.path.lexists(work_tree / os.fsdecode(path.raw))


def _in_force(setting: Setting) -> RuleInForce:
    return RuleInForce(
        rule=setting.rule.name,
        value=rule_value(setting.value),
        default=rule_value(setting.rule.default),
        origins=[str(origin) for origin in setting.origins],
    )
