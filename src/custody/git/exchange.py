"""Our own objects in git: fetched and pushed under our references, mirrors of repositories, notes."""

import base64
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType

from custody.core.errors import GitError, InputError, WorldError
from custody.core.ids import CommitSha
from custody.git.command import USUAL, Git, ProcessLimits, git_program
from custody.git.environment import (
    EXCHANGE_SETTINGS,
    OTHER_SIDE,
    exchange_environment,
    sealed_environment,
    sealed_file,
)
from custody.git.failure import full_id, printable
from custody.git.objects import (
    OUR_EMAIL,
    OUR_NAME,
    SPACE,
    NoObject,
    Object,
    ObjectReader,
    TreeEntry,
    commit_content,
    keep_loose,
    read_object,
    tree,
    write_at_once,
    write_trees,
)
from custody.git.refs import Ref, RemoteUrl

REFS = "refs/custody/"
"""Where evidence lives: a plain clone does not fetch it, and no rule for branches applies to it."""
PREFIX = "custody-exchange-"
OBJECT_BYTES_MAX = 256 << 20
FILE = 0o100644

_NAME = re.compile(r"refs/custody/[0-9a-f]{32}")
_KNOWN = re.compile(rb"([0-9a-f]{40}|[0-9a-f]{64}) (refs/custody/[0-9a-f]{32})")
_REFUSED = re.compile(r"^!\t[^\t]*\t\[([a-z ]+)\](?: \((.*)\))?", re.MULTILINE)


class RemoteMoveError(GitError):
    """The remote's reference is not where it was when we looked: somebody else pushed meanwhile."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The evidence that was exchanged, in ``folder``; ``object_format`` is that of the repository."""

    folder: Path
    object_format: str
    limits: ProcessLimits = USUAL

    def fetch(self, address: RemoteUrl, names: Iterable[str] = (f"{REFS}*",)) -> list[Ref]:
        """Bring references of ours here from a remote, with what they hold; those that it has, by name."""
        with self._git(address, "upload-pack") as (git, served):
            said = git.run("ls-remote", "--refs", *served, "--", address.url, *names)
            found = [ref for ref in _listed(said) if _NAME.fullmatch(ref.name.decode("ascii", "replace"))]
            if found:
                wanted = [f"+{ref.name.decode()}:{ref.name.decode()}" for ref in found]
                options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
                git.run("fetch", *options, *served, "--", address.url, *wanted)
                self._remember({ref.name.decode(): ref.id for ref in found})
        return sorted(found, key=lambda ref: ref.name)

    def push(self, address: RemoteUrl, name: str, commit: str, old: str | None) -> None:
        """Set the remote's reference to ``commit`` if it still is ``old`` (None: absent); else ``RemoteMoveError``."""
        assert _NAME.fullmatch(name), "a reference of ours"
        lease = f"--force-with-lease={name}:{'' if old is None else full_id(old)}"
        with self._git(address, "receive-pack") as (git, served):
            options = ("--porcelain", "--no-verify", "--no-follow-tags", lease)
            said = git.run("push", *options, *served, "--", address.url, f"{full_id(commit)}:{name}", fine=(0, 1))
        self._judge(printable_lines(said), name)
        self._remember({name: commit})

    def objects(self) -> ObjectReader[Object]:
        """A reader of what was exchanged, for a ``with`` block."""
        return ObjectReader(self._sealed, "--batch", partial(read_object, bytes_max=OBJECT_BYTES_MAX))

    def files(self, commit: str) -> dict[bytes, str]:
        """The files of an exchanged commit by name, with the ids of their contents."""
        with tree(self._sealed, CommitSha(commit), ()) as entries:
            return {entry.path.raw: entry.id for entry in entries if entry.kind == "blob"}

    def keep(self, content: bytes) -> str:
        """Keep a file's content; its id."""
        return self._keep("blob", content)

    def commit(self, files: Mapping[bytes, str], parents: Iterable[str], message: str, at_seconds: int) -> str:
        """A commit of these files (by path, with the id of their content); its id."""
        tree = write_trees(((path, FILE, sha) for path, sha in files.items()), partial(self._keep, "tree"))
        return self._keep("commit", commit_content(tree, parents, message, at_seconds))

    def known(self) -> dict[str, str]:
        """The references that were fetched or pushed last, with their commits."""
        try:
            lines = (self.folder / "known").read_bytes().splitlines()
        except FileNotFoundError:
            return {}  # nothing was ever exchanged
        except OSError as error:
            raise WorldError(f"cannot read '{self.folder}': {error.strerror}") from error
        found = (_KNOWN.fullmatch(line) for line in lines)
        return {match[2].decode(): match[1].decode() for match in found if match is not None}

    @property
    def _sealed(self) -> Git:
        environment = sealed_environment(os.environ, self.folder, self.object_format)
        return Git(self._made(), environment, limits=self.limits)

    @staticmethod
    def _judge(said: list[str], name: str) -> None:
        """Raise what the remote said against a push."""
        for line in said:
            if refused := _REFUSED.match(line):
                what, why = refused[1], refused[2] or ""
                if "stale info" in why or "fetch first" in why or what == "rejected":
                    raise RemoteMoveError(f"'{name}' was pushed by somebody else meanwhile: {why}")
                raise GitError(
                    f"the remote refused '{name}': {why or what}",
                    hint="ask who looks after it whether references below 'refs/custody/' may be pushed",
                )

    @contextmanager
    def _git(self, address: RemoteUrl, service: str) -> Iterator[tuple[Git, tuple[str, ...]]]:
        """A git that can reach a remote, and the words that say what serves a remote on this machine."""
        served = shlex.join((git_program(os.environ), *OTHER_SIDE, service))
        with self._place() as git_dir:
            environment = exchange_environment(os.environ, git_dir, self.folder / "objects")
            git = Git(git_dir, environment, limits=self.limits, always=EXCHANGE_SETTINGS)
            yield (
                git,
                ((f"--{'exec' if service == 'receive-pack' else 'upload-pack'}={served}",) if address.local else ()),
            )

    @contextmanager
    def _place(self) -> Iterator[Path]:
        folder = self._made()
        try:
            with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
                git_dir = Path(name)
                for part in ("HEAD", "config", "refs/.keep"):
                    (git_dir / part).parent.mkdir(exist_ok=True)
                    (git_dir / part).write_bytes(sealed_file(self.object_format, part).read_bytes())
                refs = [f"{sha} {ref}\n" for ref, sha in sorted(self._held().items())]
                (git_dir / "packed-refs").write_text("".join(refs), "ascii")
                yield git_dir
        except OSError as error:
            raise WorldError(f"cannot write below '{folder}': {error.strerror}", hint=SPACE) from error

    def _held(self) -> dict[str, str]:
        """The known references whose commits are here: git must not be told of others."""
        known = self.known()
        with self.objects() as objects:
            return {ref: sha for ref, sha in known.items() if isinstance(objects.read(sha), Object)}

    def _made(self) -> Path:
        try:
            (self.folder / "objects").mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise WorldError(f"cannot make '{self.folder}': {error.strerror}", hint=SPACE) from error
        return self.folder

    def _remember(self, refs: Mapping[str, str]) -> None:
        lines = (f"{sha} {ref}\n" for ref, sha in sorted((self.known() | dict(refs)).items()))
        write_at_once(self.folder / "known", "".join(lines).encode("ascii"))

    def _keep(self, kind: str, content: bytes) -> str:
        return keep_loose(self._made() / "objects", self.object_format, kind, content)


def printable_lines(said: bytes) -> list[str]:
    """What git said, line by line, as any terminal shows it; tabs stay."""
    return ["\t".join(printable(part) for part in line.split(b"\t")) for line in said.splitlines()]


def _listed(said: bytes) -> Iterator[Ref]:
    for line in said.splitlines():
        sha, _, name = line.partition(b"\t")
        yield Ref(name, full_id(sha.decode("ascii", "replace")))


# A bare copy of somebody's repository in a folder of our own, brought up to date from a remote.
# The folder is made here, so its configuration is ours; the remote is reached as ``exchange`` in surroundings.py
# says. What is asked for are names of references that the caller made, never one that a remote's users chose.


BRANCHES = "+refs/heads/*:refs/heads/*"
PULLS = "+refs/pull/*/head:refs/pull/*/head"
PULL = re.compile(r"\+refs/pull/([1-9][0-9]{0,9})/head:refs/pull/\1/head")


@dataclass(frozen=True, slots=True)
class Mirror:
    """A bare copy in ``folder``; ``token`` is what an https remote is shown."""

    folder: Path
    token: str | None = None
    object_format: str = "sha1"
    limits: ProcessLimits = USUAL

    def fetch(self, address: RemoteUrl, wanted: Sequence[str]) -> None:
        """Bring ``wanted`` here: branches, all pull requests, or single ones (see ``pull_of``)."""
        assert all(text in (BRANCHES, PULLS) or PULL.fullmatch(text) for text in wanted), "names of our own"
        self._made()
        program = git_program(os.environ)
        served = (f"--upload-pack={shlex.join((program, *OTHER_SIDE, 'upload-pack'))}",) if address.local else ()
        environment = exchange_environment(os.environ, self.folder, self.folder / "objects")
        git = Git(
            self.folder,
            environment | self._shown(address),
            limits=self.limits,
            # Old repositories hold objects that a check refuses. Nothing here is ever checked out.
            settings=("-c", "fetch.fsckObjects=false"),
            always=EXCHANGE_SETTINGS,
        )
        # A branch that was deleted stays: what was judged can be judged again.
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--update-head-ok")
        git.run("fetch", *options, *served, "--", address.url, *wanted)

    def _shown(self, address: RemoteUrl) -> dict[str, str]:
        """The token for this one host, by the environment: a command line can be seen by others."""
        if self.token is None or not address.url.startswith("https://"):
            return {}
        basic = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        return {
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": f"http.{address.url}.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
            # Where a redirect leads, git would show the token as well.
            "GIT_CONFIG_KEY_1": "http.followRedirects",
            "GIT_CONFIG_VALUE_1": "false",
        }

    def _made(self) -> None:
        try:
            for part in ("HEAD", "config", "refs/.keep", "objects/.keep"):
                path = self.folder / part
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not path.exists():
                    pattern = sealed_file(self.object_format, part)
                    path.write_bytes(pattern.read_bytes() if pattern.exists() else b"")
        except OSError as error:
            raise WorldError(f"cannot make a mirror in '{self.folder}': {error.strerror}") from error


def pull_of(number: int) -> str:
    """What brings the head of one pull request.

    >>> pull_of(3)
    '+refs/pull/3/head:refs/pull/3/head'
    """
    return f"+refs/pull/{int(number)}/head:refs/pull/{int(number)}/head"


# Writing notes of our own into a repository: the one place where custody adds to what a user's git holds.
# Nothing is written that was not asked for by the name of its reference. Objects are written as git writes loose
# ones; the reference moves by compare-and-swap, so that whoever wrote meanwhile loses nothing.


NAME_SIGNS_MAX = 200
FANOUT = 2
"""git reads notes in folders of any depth; one level serves some ten thousand."""

_REF = re.compile(r"refs/notes/[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*", re.ASCII)
_NEVER = re.compile(r"\.\.|\.(lock)?(/|$(?!\n))")
_NOTE = re.compile(rb"[0-9a-f/]{40,128}")

AS_OURSELVES = MappingProxyType({"GIT_COMMITTER_NAME": OUR_NAME, "GIT_COMMITTER_EMAIL": OUR_EMAIL})
"""Who git notes down as the one who moved a reference; else it would ask the machine, and perhaps the name service."""


@dataclass(frozen=True, slots=True)
class NoteWriteCount:
    """What became of notes: ``written`` anew, ``unchanged`` since last time; on ``kept_on`` another's is and stays."""

    written: int
    unchanged: int
    kept_on: tuple[CommitSha, ...]


def notes_ref(typed: str) -> str:
    """``typed`` when it is the full name of a reference for notes and git can take it for nothing else.

    >>> notes_ref("refs/notes/custody")
    'refs/notes/custody'
    """
    if not _REF.fullmatch(typed) or _NEVER.search(typed) or len(typed) > NAME_SIGNS_MAX:
        raise InputError(f"{typed[:80]!a} is no reference for notes", hint="for example 'refs/notes/custody'")
    return typed


class NotesTree:
    """The notes of a reference, as they are and as they will be."""

    def __init__(self, objects: Path, object_format: str, entries: Iterable[TreeEntry]) -> None:
        self._keep = partial(keep_loose, objects, object_format)
        self._entries = {entry.path.raw: (entry.mode, entry.id) for entry in entries}
        notes = (raw for raw in self._entries if _NOTE.fullmatch(raw))
        self._by_commit = {raw.replace(b"/", b"").decode("ascii"): raw for raw in notes}

    def put_all(
        self,
        notes: Mapping[CommitSha, bytes],
        read: Callable[[str], Object | NoObject],
        is_ours: Callable[[bytes], bool],
    ) -> NoteWriteCount:
        """Put notes on commits that have none or one of ours; what is somebody else's stays."""
        written = unchanged = 0
        kept_on: list[CommitSha] = []
        for commit, content in sorted(notes.items()):
            old = self._by_commit.get(full_id(commit))
            there = None if old is None else read(self._entries[old][1])
            if isinstance(there, Object) and there.content == content:
                unchanged += 1
            elif there is not None and not (isinstance(there, Object) and is_ours(there.content)):
                kept_on.append(commit)
            else:
                self._put(commit, content, old)
                written += 1
        return NoteWriteCount(written, unchanged, tuple(kept_on))

    def _put(self, commit: CommitSha, content: bytes, old: bytes | None) -> None:
        if old is not None:
            del self._entries[old]
        name = f"{commit[:FANOUT]}/{commit[FANOUT:]}".encode("ascii")
        self._entries[name] = (FILE, self._keep("blob", content))
        self._by_commit[commit] = name

    def commit(self, parent: str | None, message: str, at_seconds: int) -> str:
        """A commit of the notes as they will be; its id."""
        entries = ((raw, mode, sha) for raw, (mode, sha) in self._entries.items())
        tree = write_trees(entries, partial(self._keep, "tree"))
        return self._keep("commit", commit_content(tree, [] if parent is None else [parent], message, at_seconds))
