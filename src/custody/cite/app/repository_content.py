"""What a repository holds, as the audit of a report asks: files, their texts, paths of the past, manifests."""

import os
import re
import sys
from collections.abc import Collection, Iterator
from functools import cache

from custody.cite.missing_names import RepositoryContent
from custody.core.errors import InputError
from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import Comparison, FileAt, Object, ObjectReader, Repository, WorkFile

COMMITS_MAX = 20_000
"""So many commits that touched a path are looked at."""
TEXT_BYTES_MAX = 4 * 1024 * 1024
MANIFESTS_MAX = 200
_MANIFEST = re.compile(
    r"(?:^|/)(?:pyproject\.toml|setup\.(?:py|cfg)|[\w.-]*requirements[\w.-]*\.(?:txt|in|lock)|Pipfile(?:\.lock)?"
    r"|(?:poetry|uv|pdm|Cargo|composer|mix|pubspec|Gemfile|Podfile|flake)\.lock|environment\.ya?ml|package(?:-lock)?\.json"
    r"|yarn\.lock|pnpm-(?:lock|workspace)\.yaml|bun\.lockb?|deno\.jsonc?|Cargo\.toml|go\.(?:mod|sum)|Gemfile|[\w.-]+\.gemspec"
    r"|pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|libs\.versions\.toml|composer\.json|mix\.exs|pubspec\.yaml|Package\.swift"
    r"|[\w.-]+\.(?:csproj|fsproj|cabal|podspec)|CMakeLists\.txt|conanfile\.(?:txt|py)|vcpkg\.json|requirements/[\w.-]+)$"
)


def holding_of(repository: Repository, commit: CommitSha, objects: ObjectReader[Object]) -> RepositoryContent:
    """What ``commit`` and the work tree on top of it hold, and what was before."""
    with repository.tree(commit) as entries:
        paths = [str(entry.path) for entry in entries if entry.kind != "tree"]

    @cache
    def text_of(path: str) -> str | None:
        work = repository.work_file(RepoPath.of(path), TEXT_BYTES_MAX)
        if isinstance(work, WorkFile):
            return work.content.decode("utf-8", "replace")
        found = objects.read(FileAt(commit, RepoPath.of(path)))
        kept = isinstance(found, Object) and found.info.kind == "blob" and len(found.content) <= TEXT_BYTES_MAX
        return found.content.decode("utf-8", "replace") if kept and isinstance(found, Object) else None

    named = [path for path in paths if _MANIFEST.search(path)][:MANIFESTS_MAX]
    return RepositoryContent(
        paths=paths,
        text_of=text_of,
        ever=lambda wanted: set(_on_disk(repository, wanted)) | set(_in_history(repository, commit, wanted)),
        manifests=[text for path in named if (text := text_of(path)) is not None],
        builtin=sys.stdlib_module_names,
    )


def _on_disk(repository: Repository, wanted: Collection[str]) -> Iterator[str]:
    if repository.work_tree is not None:
        yield from (path for path in wanted if os.path.lexists(repository.work_tree / path))


def _in_history(repository: Repository, commit: CommitSha, wanted: Collection[str]) -> Iterator[str]:
    """Those paths that some commit before ``commit`` touched: one walk for all of them."""
    paths = [path for name in sorted(wanted) if (path := _path(name)) is not None]
    left = {str(path) for path in paths}
    if not paths:
        return
    with repository.log([commit], paths) as commits:
        asked = (Comparison(past_commit.id) for n, past_commit in enumerate(commits) if n < COMMITS_MAX)
        with repository.changes(asked, paths, renames=False) as changes:
            for change in changes:
                touched = {str(file.path) for file in change.files} & left
                yield from sorted(touched)
                left -= touched
                if not left:
                    return


def _path(path: str) -> RepoPath | None:
    try:
        return RepoPath.of(path)
    except InputError:
        return None  # no path of a repository: nobody can have committed it
