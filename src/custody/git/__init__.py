"""The hardened adapter to git: nothing in a repository can make it run a program.

May start git (``command``) and read the work tree (``work_tree_file``). It writes only its temporary folders
(``private_repository``), custody's folder of exchanged evidence and, on request, notes (``exchange``). It uses the
network only to push to or fetch from a remote (``exchange``). Its parsers are pure functions over bytes. It imports
only ``core``. ``discover_repository`` is the entry point.
"""

from typing import TYPE_CHECKING

from custody.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from custody.git.blame import BlameEntry, LineSource
    from custody.git.command import AnswerStream, ProcessLimits, check_git_version
    from custody.git.commit_log import Ancestry, Commit, Person, Walk, ZonedTime, parse_commit
    from custody.git.diff import (
        ChangeKind,
        CommitChanges,
        CommitDiff,
        Comparison,
        DiffSide,
        FileChange,
        FileDiff,
        HunkDetail,
        PatchLimits,
    )
    from custody.git.exchange import (
        BRANCHES,
        BUDGET_REF,
        EVERY_REF,
        PULLS,
        Exchange,
        Mirror,
        NoteWriteCount,
        RemoteMoveError,
        make_pull_refspec,
    )
    from custody.git.objects import (
        FileAt,
        NoObject,
        Object,
        ObjectConnections,
        ObjectInfo,
        ObjectReader,
        TreeEntry,
        parse_tree_object,
    )
    from custody.git.refs import Ref, Remote, Remotes, RemoteUrl, RepositoryHead, parse_remote_url
    from custody.git.repository import BRANCH_PREFIXES, Repository, WorkCommit, discover_repository
    from custody.git.user_settings import read_user_pager
    from custody.git.work_commit import WorkLimits
    from custody.git.work_tree_file import FILE_BYTES_MAX, NoWorkFile, WorkFile, read_small_file, read_work_file
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "blame": "BlameEntry LineSource",
            "command": "AnswerStream ProcessLimits check_git_version",
            "commit_log": "Ancestry Commit Person Walk ZonedTime parse_commit",
            "diff": (
                "ChangeKind CommitChanges CommitDiff Comparison DiffSide FileChange FileDiff HunkDetail PatchLimits"
            ),
            "exchange": (
                "BRANCHES BUDGET_REF EVERY_REF Exchange Mirror NoteWriteCount PULLS RemoteMoveError make_pull_refspec"
            ),
            "objects": "FileAt NoObject Object ObjectConnections ObjectInfo ObjectReader TreeEntry parse_tree_object",
            "refs": "Ref Remote RemoteUrl Remotes RepositoryHead parse_remote_url",
            "repository": "BRANCH_PREFIXES Repository WorkCommit discover_repository",
            "user_settings": "read_user_pager",
            "work_commit": "WorkLimits",
            "work_tree_file": "FILE_BYTES_MAX NoWorkFile WorkFile read_small_file read_work_file",
        },
    )

__all__ = [
    "BRANCHES",
    "BRANCH_PREFIXES",
    "BUDGET_REF",
    "EVERY_REF",
    "FILE_BYTES_MAX",
    "PULLS",
    "Ancestry",
    "AnswerStream",
    "BlameEntry",
    "ChangeKind",
    "Commit",
    "CommitChanges",
    "CommitDiff",
    "Comparison",
    "DiffSide",
    "Exchange",
    "FileAt",
    "FileChange",
    "FileDiff",
    "HunkDetail",
    "LineSource",
    "Mirror",
    "NoObject",
    "NoWorkFile",
    "NoteWriteCount",
    "Object",
    "ObjectConnections",
    "ObjectInfo",
    "ObjectReader",
    "PatchLimits",
    "Person",
    "ProcessLimits",
    "Ref",
    "Remote",
    "RemoteMoveError",
    "RemoteUrl",
    "Remotes",
    "Repository",
    "RepositoryHead",
    "TreeEntry",
    "Walk",
    "WorkCommit",
    "WorkFile",
    "WorkLimits",
    "ZonedTime",
    "check_git_version",
    "discover_repository",
    "make_pull_refspec",
    "parse_commit",
    "parse_remote_url",
    "parse_tree_object",
    "read_small_file",
    "read_user_pager",
    "read_work_file",
]
