"""Call every method of the git adapter in a separate program, so that strace can watch it."""

import sys
from pathlib import Path

from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import discover_repository
from tests.hostile.calls import CALLS, CallTarget

if __name__ == "__main__":
    folder, new, old = sys.argv[1:]
    repository = discover_repository(Path(folder))
    for call in CALLS.values():
        call(repository, CallTarget(CommitSha(new), CommitSha(old), RepoPath(b"x")))
