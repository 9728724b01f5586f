"""The hardened git door: nothing else in custody starts git, and nothing in a repository can make it run a program.

This room may start git (``child``) and read the work tree (``worktree``); it writes nothing but temporary folders of
its own (``private``), custody's own folder of exchanged evidence and, when somebody asks for it, notes (``notes``), and
opens no network but to a remote that somebody asks it to push to or to fetch from (``exchange``, ``mirror``). Its
parsers are pure functions over bytes. It imports only ``custody.model``. ``discover`` is the way in.
"""

from custody.world.git.ancestry import Ancestry
from custody.world.git.answers import Answers
from custody.world.git.blame import BlamedCommit, BlamedText, BlameEntry, Previous
from custody.world.git.changes import CommitChanges, FileChange, Kind, Side
from custody.world.git.child import Limits
from custody.world.git.commit_object import parse_commit
from custody.world.git.comparing import Comparison
from custody.world.git.exchange import Exchange, Moved
from custody.world.git.files import read_small
from custody.world.git.history import Commit
from custody.world.git.mirror import Mirror
from custody.world.git.notes import NotesWritten
from custody.world.git.object_reader import ObjectReader
from custody.world.git.objects import FileAt, NoObject, Object, ObjectInfo
from custody.world.git.patch import CommitDiff, FileDiff, Hunk, HunkLine, PatchLimits, Shown, Sign
from custody.world.git.people import Moment, Person
from custody.world.git.refs import Head, Ref
from custody.world.git.remotes import Address, Remote, Remotes
from custody.world.git.repository import Repository, WorkCommit, discover
from custody.world.git.trees import TreeEntry
from custody.world.git.version import git_version
from custody.world.git.walking import Walk
from custody.world.git.work_reading import WorkLimits
from custody.world.git.worktree import NoWorkFile, WorkFile

__all__ = [
    "Address",
    "Ancestry",
    "Answers",
    "BlameEntry",
    "BlamedCommit",
    "BlamedText",
    "Commit",
    "CommitChanges",
    "CommitDiff",
    "Comparison",
    "Exchange",
    "FileAt",
    "FileChange",
    "FileDiff",
    "Head",
    "Hunk",
    "HunkLine",
    "Kind",
    "Limits",
    "Mirror",
    "Moment",
    "Moved",
    "NoObject",
    "NoWorkFile",
    "NotesWritten",
    "Object",
    "ObjectInfo",
    "ObjectReader",
    "PatchLimits",
    "Person",
    "Previous",
    "Ref",
    "Remote",
    "Remotes",
    "Repository",
    "Shown",
    "Side",
    "Sign",
    "TreeEntry",
    "Walk",
    "WorkCommit",
    "WorkFile",
    "WorkLimits",
    "discover",
    "git_version",
    "parse_commit",
    "read_small",
]
