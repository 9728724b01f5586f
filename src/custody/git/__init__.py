"""The hardened adapter to git: nothing in a repository can make it run a program.

May start git (``process``) and read the work tree (``work_tree_file``). It writes nothing but temporary folders of its
own (``private_repository``), custody's own folder of exchanged evidence and, when asked to, notes (``notes``). It opens
no network except to a remote that it is asked to push to or to fetch from (``exchange``, ``mirror``). Its parsers are
pure functions over bytes. It imports only ``core``. ``discover`` is the way in.
"""

from custody.git.blame import BlameEntry
from custody.git.command import AnswerStream, ProcessLimits, git_version
from custody.git.commit_log import Ancestry, Commit, Person, Walk, ZonedTime, parse_commit
from custody.git.diff import (
    ChangeKind,
    CommitChanges,
    CommitDiff,
    Comparison,
    DiffSide,
    FileChange,
    FileDiff,
    Hunk,
    HunkDetail,
    PatchLimits,
)
from custody.git.exchange import BRANCHES, PULLS, Exchange, Mirror, NoteWriteCount, RemoteMoveError, pull_of
from custody.git.objects import FileAt, NoObject, Object, ObjectInfo, ObjectReader, TreeEntry
from custody.git.refs import Ref, Remote, Remotes, RemoteUrl, RepositoryHead, address_of
from custody.git.repository import BRANCH_PREFIXES, Repository, WorkCommit, discover
from custody.git.work_commit import WorkLimits
from custody.git.work_tree_file import NoWorkFile, WorkFile, read_small_file, read_work_file

__all__ = [
    "BRANCHES",
    "BRANCH_PREFIXES",
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
    "Hunk",
    "HunkDetail",
    "Mirror",
    "NoObject",
    "NoWorkFile",
    "NoteWriteCount",
    "Object",
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
    "address_of",
    "discover",
    "git_version",
    "parse_commit",
    "pull_of",
    "read_small_file",
    "read_work_file",
]
