"""The hardened adapter to git: nothing in a repository can make it run a program.

May start git (``process``) and read the work tree (``work_tree_file``). It writes nothing but temporary folders of its
own (``private_repository``), custody's own folder of exchanged evidence and, when asked to, notes (``notes``). It opens
no network except to a remote that it is asked to push to or to fetch from (``exchange``, ``mirror``). Its parsers are
pure functions over bytes. It imports only ``core``. ``discover`` is the way in.
"""

from custody.git.ancestry import Ancestry
from custody.git.answer_stream import AnswerStream
from custody.git.blame_parser import BlameEntry
from custody.git.commit_log import Commit
from custody.git.commit_object import parse_commit
from custody.git.diff_command import Comparison
from custody.git.exchange import Exchange, RemoteMoveError
from custody.git.mirror import BRANCHES, PULLS, Mirror, pull_of
from custody.git.notes import NoteWriteCount
from custody.git.object_parser import FileAt, NoObject, Object, ObjectInfo
from custody.git.object_reader import ObjectReader
from custody.git.patch import CommitDiff, FileDiff, Hunk, HunkDetail, PatchLimits
from custody.git.person import Person, ZonedTime
from custody.git.process import ProcessLimits
from custody.git.raw_diff import ChangeKind, CommitChanges, DiffSide, FileChange
from custody.git.ref_parser import Ref, RepositoryHead
from custody.git.remotes import Remote, Remotes, RemoteUrl, address_of
from custody.git.repository import BRANCH_PREFIXES, Repository, WorkCommit, discover
from custody.git.safe_file import read_small_file
from custody.git.tree_parser import TreeEntry
from custody.git.version import git_version
from custody.git.walk_command import Walk
from custody.git.work_tree_file import NoWorkFile, WorkFile, read_work_file
from custody.git.work_tree_reader import WorkLimits

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
