"""The rules in force, and where each was set."""

import os
import stat
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path

from custody.config import (
    FILE_BYTES_MAX,
    EffectiveRules,
    RuleFileReader,
    Setting,
    TeamPolicy,
    load_rule_files,
    load_team_policy,
)
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import digest_rule_tables, rule_value_to_json
from custody.core.wire.report import RuleInForce, RulesReport, RulesSource
from custody.git import NoObject, Object, ObjectReader, Repository, TreeEntry, WorkFile, parse_tree_object
from custody.workspace.wiring import import_rule_tables
from custody.workspace.workspace import Workspace


def report_rules_in_force(workspace: Workspace, table: str | None = None) -> RulesReport:
    """Return every rule with its value and origin, optionally of one table, and the digests of the rules."""
    tables = import_rule_tables()
    if table is not None and table not in tables:
        raise InputError(f"unknown table of rules '{table}'", hint=f"the tables are {', '.join(tables)}")
    effective, sources = load_workspace_rules(workspace)
    shown = [table] if table is not None else list(tables)
    return RulesReport(
        rules=[_rule_in_force_from_setting(setting) for setting in effective.settings if setting.rule.table in shown],
        digests={name: format_digest(digest_rule_tables({name: effective.table(name)})) for name in shown},
        digest=format_digest(digest_rule_tables(effective.tables)),
        sources=list(sources),
        warnings=[str(key) for key in effective.ignored],
    )


def load_workspace_rules(
    workspace: Workspace, environment: Mapping[str, str] = os.environ, policy: str | None = None
) -> tuple[EffectiveRules, tuple[RulesSource, ...]]:
    """Return the rules in force, perhaps with a policy; a team database outside a repository has no rule files."""

    def read() -> tuple[EffectiveRules, tuple[RulesSource, ...]]:
        return resolve_rules_in_force(
            _read_no_rule_file if workspace.home is None else _make_work_tree_rule_reader(workspace.repository),
            environment,
            policy,
        )

    effective, sources = workspace.once(("rules", workspace.folder, policy, frozenset(environment.items())), read)
    warn_of_ignored_rules(workspace, effective)
    return effective, sources


def load_user_rules(workspace: Workspace) -> EffectiveRules:
    """Return the rules in force outside a repository: those of the user."""
    effective, _ = resolve_rules_in_force(_read_no_rule_file, os.environ)
    warn_of_ignored_rules(workspace, effective)
    return effective


def warn_of_ignored_rules(workspace: Workspace, effective: EffectiveRules) -> None:
    """Warn of each key of a file that has no effect, once per command; a service's requests warn of nothing."""
    if workspace.resources is None:
        return
    for key in effective.ignored:
        workspace.once(("warning", key), partial(workspace.talk, str(key)))


def load_rules_at_commit(
    repository: Repository, commit: CommitSha, environment: Mapping[str, str] = os.environ
) -> tuple[EffectiveRules, tuple[RulesSource, ...]]:
    """Return the rules that the files of a commit set, for a user with this environment."""
    with repository.objects(FILE_BYTES_MAX) as objects:
        return resolve_rules_in_force(_make_commit_rule_reader(repository, objects, commit), environment)


def load_team_policy_at_commit(repository: Repository, commit: CommitSha) -> TeamPolicy:
    """Return the stores and reviewers that ``custody.toml`` of a commit lists."""
    with repository.objects(FILE_BYTES_MAX) as objects:
        return load_team_policy(_make_commit_rule_reader(repository, objects, commit))


def load_base_team_policy(repository: Repository, base: CommitSha, fork: CommitSha) -> TeamPolicy:
    """Return the stores and reviewers of the merge base, without those that the base changed or dropped since."""
    now = load_team_policy_at_commit(repository, base)
    if fork == base:
        return now
    then = load_team_policy_at_commit(repository, fork)
    stores = {name: store for name, store in then.stores.items() if store in now.stores.values()}
    reviewers = {name: person for name, person in then.reviewers.items() if now.reviewers.get(name) == person}
    return TeamPolicy(stores, reviewers)


def load_workspace_team_policy(workspace: Workspace) -> TeamPolicy:
    """Return the stores and reviewers that ``custody.toml`` of HEAD lists; none outside a repository."""

    def read() -> TeamPolicy:
        head = None if workspace.home is None else workspace.repository.head().commit
        return TeamPolicy() if head is None else load_team_policy_at_commit(workspace.repository, head)

    return workspace.once(("team policy", workspace.folder), read)


def resolve_rules_in_force(
    read: RuleFileReader, environment: Mapping[str, str], policy: str | None = None
) -> tuple[EffectiveRules, tuple[RulesSource, ...]]:
    """Return the rules in force for the files that ``read`` returns, and a user with this environment."""
    return load_rule_files(import_rule_tables(), read, environment, policy)


def _make_commit_rule_reader(
    repository: Repository, objects: ObjectReader[Object], commit: CommitSha
) -> RuleFileReader:
    find = _make_entry_finder(repository, objects, commit)

    def read(path: RepoPath) -> bytes | None:
        entry = find(path)
        if entry is None:
            return None
        if not stat.S_ISREG(entry.mode):
            raise _make_unreadable_rule_error(path, commit, "not a regular file")
        content = objects.read(entry.id)
        if isinstance(content, NoObject):  # an unreadable file must not be ignored silently
            raise _make_unreadable_rule_error(path, commit, content.reason)
        return content.content

    return read


def _make_entry_finder(
    repository: Repository, objects: ObjectReader[Object], commit: CommitSha
) -> Callable[[RepoPath], TreeEntry | None]:
    """Return a function that finds a path of a commit in its tree objects, or by git where one cannot be read."""

    @cache
    def read_folder(name: str) -> Mapping[bytes, TreeEntry] | None:
        tree = objects.read(name)
        if isinstance(tree, NoObject):
            return None
        return {entry.path.raw: entry for entry in parse_tree_object(tree.content, len(commit) // 2)}

    @cache
    def read_root() -> str | None:
        found = objects.read(commit)
        return None if isinstance(found, NoObject) else found.content[5 : 5 + len(commit)].decode("ascii")

    def find(path: RepoPath) -> TreeEntry | None:
        folder = read_root()
        *above, last = path.raw.split(b"/")
        for name in above:
            entries = None if folder is None else read_folder(folder)
            if entries is not None and (name not in entries or entries[name].kind != "tree"):
                return None
            folder = None if entries is None else entries[name].id
        entries = None if folder is None else read_folder(folder)
        if entries is not None:
            entry = entries.get(last)
            return None if entry is None or entry.kind == "tree" else entry
        with repository.tree(commit, [path]) as found:
            return next((entry for entry in found if entry.path == path), None)

    return find


def _make_unreadable_rule_error(path: RepoPath, commit: CommitSha, reason: str) -> InputError:
    return InputError(
        f"cannot read '{path.display}' of {commit}: {reason}",
        hint="rules are read from regular files of the repository",
    )


def _read_no_rule_file(_path: RepoPath) -> None:
    return None


def _make_work_tree_rule_reader(repository: Repository) -> RuleFileReader:
    work_tree = repository.work_tree

    def read(path: RepoPath) -> bytes | None:
        if work_tree is None:
            return None  # a bare repository has no work tree to set rules in
        file = repository.work_file(path, FILE_BYTES_MAX)
        if isinstance(file, WorkFile):
            return file.content
        if not _has_work_tree_path(work_tree, path):
            return None
        raise InputError(f"'{path.display}' {file.reason}", hint="rules are read from regular files of the repository")

    return read


def _has_work_tree_path(work_tree: Path, path: RepoPath) -> bool:
    """Return whether the path exists, even as a broken link: a file of rules must not be ignored silently."""
    return os.path.lexists(work_tree / os.fsdecode(path.raw))


def _rule_in_force_from_setting(setting: Setting) -> RuleInForce:
    return RuleInForce(
        rule=setting.rule.name,
        value=rule_value_to_json(setting.value),
        default=rule_value_to_json(setting.rule.default),
        origins=[str(origin) for origin in setting.origins],
    )
