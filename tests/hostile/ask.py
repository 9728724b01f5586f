"""Ask every question of one repository: a program of its own, so that it can be watched from outside."""

import sys
from pathlib import Path

from custody.core.ids import CommitSha
from custody.core.paths import RepoPath
from custody.git import discover
from tests.hostile.calls import CALLS, Asked

if __name__ == "__main__":
    folder, new, old = sys.argv[1:]
    repository = discover(Path(folder))
    for call in CALLS.values():
        call(repository, Asked(CommitSha(new), CommitSha(old), RepoPath(b"x")))
