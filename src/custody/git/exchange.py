"""Exchange with remotes: evidence under our own references, mirrors of repositories, notes."""

import base64
import os
import re
import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct

from custody.core.errors import GitError, InputError, WorldError
from custody.core.ids import CommitSha
from custody.core.patterns import lazy_pattern
from custody.git.command import USUAL, Git, ProcessLimits, require_git_program
from custody.git.environment import (
    EXCHANGE_SETTINGS,
    LOCAL_REMOTE_SETTINGS,
    find_sealed_repository_file,
    make_exchange_environment,
    make_sealed_environment,
)
from custody.git.failure import check_full_object_id, escape_git_output
from custody.git.objects import (
    OUR_EMAIL,
    OUR_NAME,
    SPACE,
    NoObject,
    Object,
    ObjectReader,
    TreeEntry,
    format_commit_content,
    list_commit_tree,
    read_object,
    write_file_atomically,
    write_loose_object,
    write_tree_objects,
)
from custody.git.refs import Ref, RemoteUrl

REFS = "refs/custody/"
"""The references of evidence; a plain clone does not fetch them, and branch rules do not apply."""
EVERY_REF = f"{REFS}*"
PREFIX = "custody-exchange-"
OBJECT_BYTES_MAX = 256 << 20
FILE = 0o100644

BUDGET_REF = f"{REFS}budget"
"""The reference of the shared budget."""

_CHAIN = lazy_pattern(r"refs/custody/[0-9a-f]{32}")
_NAME = lazy_pattern(r"refs/custody/([0-9a-f]{32}|witness|budget)")
_KNOWN = lazy_pattern(rb"([0-9a-f]{40}|[0-9a-f]{64}) (refs/custody/([0-9a-f]{32}|witness|budget))")
_REJECTION = lazy_pattern(r"^!\t[^\t]*\t\[([a-z ]+)\](?: \((.*)\))?", re.MULTILINE)


class RemoteMoveError(GitError):
    """The reference of the remote has moved since we read it."""


class Exchange(Struct, frozen=True):
    """The exchanged evidence in ``folder``; ``object_format`` is that of the repository."""

    folder: Path
    object_format: str
    limits: ProcessLimits = USUAL

    def fetch(self, url: RemoteUrl, names: Iterable[str] | None = None) -> list[Ref]:
        """Fetch our references and their objects from a remote; return those that it has, by name.

        Without ``names`` these are the references of chains, with the pattern ``EVERY_REF`` also those about chains.
        """
        wanted = _CHAIN if names is None else _NAME
        with self._git(url, "upload-pack") as (git, served):
            output = git.run("ls-remote", "--refs", *served, "--", url.url, *(names or (EVERY_REF,)))
            refs = [ref for ref in _parse_remote_refs(output) if wanted.fullmatch(ref.name.decode("ascii", "replace"))]
            if refs:
                refspecs = [f"+{ref.name.decode()}:{ref.name.decode()}" for ref in refs]
                options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")
                git.run("fetch", *options, *served, "--", url.url, *refspecs)
                self._store_known_refs({ref.name.decode(): ref.id for ref in refs})
        return sorted(refs, key=lambda ref: ref.name)

    def push(self, url: RemoteUrl, name: str, commit: str, old: str | None) -> None:
        """Set the remote's reference to ``commit`` if it still is ``old`` (None: absent); else ``RemoteMoveError``."""
        assert _NAME.fullmatch(name), "a reference of ours"
        lease = f"--force-with-lease={name}:{'' if old is None else check_full_object_id(old)}"
        with self._git(url, "receive-pack") as (git, served):
            options = ("--porcelain", "--no-verify", "--no-follow-tags", lease)
            output = git.run(
                "push", *options, *served, "--", url.url, f"{check_full_object_id(commit)}:{name}", statuses=(0, 1)
            )
        self._check_push(escape_git_lines(output), name)
        self._store_known_refs({name: commit})

    def objects(self, bytes_max: int = OBJECT_BYTES_MAX) -> ObjectReader[Object]:
        """Return a reader of exchanged objects, for a ``with`` block; larger objects are reported as too large."""
        return ObjectReader(self._sealed, "--batch", partial(read_object, bytes_max=bytes_max))

    def files(self, commit: str) -> dict[bytes, str]:
        """Return the files of an exchanged commit by path, with their blob ids."""
        with list_commit_tree(self._sealed, CommitSha(commit), ()) as entries:
            return {entry.path.raw: entry.id for entry in entries if entry.kind == "blob"}

    def keep(self, content: bytes) -> str:
        """Store the content of a file, and return its id."""
        return self._keep("blob", content)

    def commit(self, files: Mapping[bytes, str], parents: Iterable[str], message: str, at_seconds: int) -> str:
        """Make a commit of these files (blob ids by path), and return its id."""
        tree = write_tree_objects(((path, FILE, sha) for path, sha in files.items()), partial(self._keep, "tree"))
        return self._keep("commit", format_commit_content(tree, parents, message, at_seconds))

    def read_known_refs(self) -> dict[str, str]:
        """Return the references that were fetched or pushed last, with their commits."""
        try:
            lines = (self.folder / "known").read_bytes().splitlines()
        except FileNotFoundError:
            return {}  # no exchange yet
        except OSError as error:
            raise WorldError(f"cannot read '{self.folder}': {error.strerror}") from error
        matches = (_KNOWN.fullmatch(line) for line in lines)
        return {match[2].decode(): match[1].decode() for match in matches if match is not None}

    def note_ref(self, name: str, commit: str) -> None:
        """Remember a commit as the last known one of a reference, whatever the remote has now."""
        self._store_known_refs({name: check_full_object_id(commit)})

    @property
    def _sealed(self) -> Git:
        environment = make_sealed_environment(os.environ, self.folder, self.object_format)
        return Git(self._make_folder(), environment, limits=self.limits)

    @staticmethod
    def _check_push(lines: list[str], name: str) -> None:
        """Raise the remote's rejection of a push, if any."""
        for line in lines:
            if rejection := _REJECTION.match(line):
                kind, why = rejection[1], rejection[2] or ""
                if "stale info" in why or "fetch first" in why or kind == "rejected":
                    raise RemoteMoveError(f"someone else pushed '{name}' meanwhile: {why}")
                raise GitError(
                    f"the remote rejected '{name}': {why or kind}",
                    hint="ask its administrator to allow pushes to 'refs/custody/'",
                )

    @contextmanager
    def _git(self, url: RemoteUrl, service: str) -> Iterator[tuple[Git, tuple[str, ...]]]:
        """Yield a git that can use a remote, and the option for the program that serves a local remote."""
        served = shlex.join((require_git_program(os.environ), *LOCAL_REMOTE_SETTINGS, service))
        with self._make_git_dir() as git_dir:
            environment = make_exchange_environment(os.environ, git_dir, self.folder / "objects")
            git = Git(git_dir, environment, limits=self.limits, always=EXCHANGE_SETTINGS)
            yield (
                git,
                ((f"--{'exec' if service == 'receive-pack' else 'upload-pack'}={served}",) if url.local else ()),
            )

    @contextmanager
    def _make_git_dir(self) -> Iterator[Path]:
        folder = self._make_folder()
        try:
            with tempfile.TemporaryDirectory(prefix=PREFIX) as name:
                git_dir = Path(name)
                for part in ("HEAD", "config", "refs/.keep"):
                    (git_dir / part).parent.mkdir(exist_ok=True)
                    (git_dir / part).write_bytes(find_sealed_repository_file(self.object_format, part).read_bytes())
                refs = [f"{sha} {ref}\n" for ref, sha in sorted(self._list_held_refs().items())]
                (git_dir / "packed-refs").write_text("".join(refs), "ascii")
                yield git_dir
        except OSError as error:
            raise WorldError(f"cannot write to '{folder}': {error.strerror}", hint=SPACE) from error

    def _list_held_refs(self) -> dict[str, str]:
        """Return the known references whose commits are here; git must not see others."""
        known = self.read_known_refs()
        with self.objects() as objects:
            return {ref: sha for ref, sha in known.items() if isinstance(objects.read(sha), Object)}

    def _make_folder(self) -> Path:
        try:
            (self.folder / "objects").mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise WorldError(f"cannot create '{self.folder}': {error.strerror}", hint=SPACE) from error
        return self.folder

    def _store_known_refs(self, refs: Mapping[str, str]) -> None:
        lines = (f"{sha} {ref}\n" for ref, sha in sorted((self.read_known_refs() | dict(refs)).items()))
        write_file_atomically(self.folder / "known", "".join(lines).encode("ascii"))

    def _keep(self, kind: str, content: bytes) -> str:
        return write_loose_object(self._make_folder() / "objects", self.object_format, kind, content)


def escape_git_lines(output: bytes) -> list[str]:
    """Return the output of git as printable lines; tabs stay."""
    return ["\t".join(escape_git_output(part) for part in line.split(b"\t")) for line in output.splitlines()]


def _parse_remote_refs(output: bytes) -> Iterator[Ref]:
    for line in output.splitlines():
        sha, _, name = line.partition(b"\t")
        yield Ref(name, check_full_object_id(sha.decode("ascii", "replace")))


# Mirrors: bare copies of repositories in folders of our own, updated from a remote.
# The folder and its configuration are ours; the remote is used in the ``exchange`` environment. Only reference names
# that the caller made are fetched, never names that users of the remote chose.


BRANCHES = "+refs/heads/*:refs/heads/*"
PULLS = "+refs/pull/*/head:refs/pull/*/head"
PULL = lazy_pattern(r"\+refs/pull/([1-9][0-9]{0,9})/head:refs/pull/\1/head")


class Mirror(Struct, frozen=True):
    """A bare copy in ``folder``; ``token`` is sent to an https remote."""

    folder: Path
    token: str | None = None
    object_format: str = "sha1"
    limits: ProcessLimits = USUAL

    def fetch(self, url: RemoteUrl, refspecs: Sequence[str]) -> None:
        """Fetch branches, all pull requests, or single ones (see ``make_pull_refspec``)."""
        assert all(text in (BRANCHES, PULLS) or PULL.fullmatch(text) for text in refspecs), "our own refspecs"
        self._make_folder()
        program = require_git_program(os.environ)
        served = (f"--upload-pack={shlex.join((program, *LOCAL_REMOTE_SETTINGS, 'upload-pack'))}",) if url.local else ()
        environment = make_exchange_environment(os.environ, self.folder, self.folder / "objects")
        git = Git(
            self.folder,
            environment | self._make_token_environment(url),
            limits=self.limits,
            # Old repositories have objects that a check rejects. Nothing here is ever checked out.
            settings=("-c", "fetch.fsckObjects=false"),
            always=EXCHANGE_SETTINGS,
        )
        # Deleted branches stay, so that verdicts about them can be repeated.
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--update-head-ok")
        git.run("fetch", *options, *served, "--", url.url, *refspecs)

    def _make_token_environment(self, url: RemoteUrl) -> dict[str, str]:
        """Return the token for this host as environment variables; other users can see command lines."""
        if self.token is None or not url.url.startswith("https://"):
            return {}
        basic = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        return {
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": f"http.{url.url}.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
            # git would send the token to the target of a redirect, too.
            "GIT_CONFIG_KEY_1": "http.followRedirects",
            "GIT_CONFIG_VALUE_1": "false",
        }

    def _make_folder(self) -> None:
        try:
            for part in ("HEAD", "config", "refs/.keep", "objects/.keep"):
                path = self.folder / part
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not path.exists():
                    pattern = find_sealed_repository_file(self.object_format, part)
                    path.write_bytes(pattern.read_bytes() if pattern.exists() else b"")
        except OSError as error:
            raise WorldError(f"cannot create a mirror in '{self.folder}': {error.strerror}") from error


def make_pull_refspec(number: int) -> str:
    """Return the refspec of the head of a pull request.

    >>> make_pull_refspec(3)
    '+refs/pull/3/head:refs/pull/3/head'
    """
    return f"+refs/pull/{int(number)}/head:refs/pull/{int(number)}/head"


# Notes: the only data that custody adds to a user's repository, under a reference that the user names.
# Objects are written as loose objects; the reference moves by compare-and-swap, so that no concurrent write is lost.


NAME_CHARS_MAX = 200
FANOUT = 2
"""Digits of the folder of a note; one level is enough for some ten thousand notes."""

_REF = lazy_pattern(r"refs/notes/[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*", re.ASCII)
_NEVER = lazy_pattern(r"\.\.|\.(lock)?(/|$(?!\n))")
_NOTE = lazy_pattern(rb"[0-9a-f/]{40,128}")

COMMITTER_ENVIRONMENT = MappingProxyType({"GIT_COMMITTER_NAME": OUR_NAME, "GIT_COMMITTER_EMAIL": OUR_EMAIL})
"""The committer of reference updates; without it git would ask the system, and perhaps a name service."""


class NoteWriteCount(Struct, frozen=True):
    """Numbers of written and unchanged notes; ``kept_on`` lists commits where the note of another tool stays."""

    written: int
    unchanged: int
    kept_on: tuple[CommitSha, ...]


def check_notes_ref(typed: str) -> str:
    """Return ``typed`` if it is the full name of a notes reference; raises ``InputError`` otherwise.

    >>> check_notes_ref("refs/notes/custody")
    'refs/notes/custody'
    """
    if not _REF.fullmatch(typed) or _NEVER.search(typed) or len(typed) > NAME_CHARS_MAX:
        raise InputError(f"invalid notes reference {typed[:80]!a}", hint="write for example 'refs/notes/custody'")
    return typed


class NotesTree:
    """The notes of a reference, with pending changes."""

    def __init__(self, objects: Path, object_format: str, entries: Iterable[TreeEntry]) -> None:
        self._keep = partial(write_loose_object, objects, object_format)
        self._entries = {entry.path.raw: (entry.mode, entry.id) for entry in entries}
        notes = (raw for raw in self._entries if _NOTE.fullmatch(raw))
        self._by_commit = {raw.replace(b"/", b"").decode("ascii"): raw for raw in notes}

    def put_all(
        self,
        notes: Mapping[CommitSha, bytes],
        read: Callable[[str], Object | NoObject],
        is_ours: Callable[[bytes], bool],
    ) -> NoteWriteCount:
        """Put notes on commits that have none or one of ours; notes of other tools stay."""
        written = unchanged = 0
        kept_on: list[CommitSha] = []
        for commit, content in sorted(notes.items()):
            old = self._by_commit.get(check_full_object_id(commit))
            current = None if old is None else read(self._entries[old][1])
            if isinstance(current, Object) and current.content == content:
                unchanged += 1
            elif current is not None and not (isinstance(current, Object) and is_ours(current.content)):
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
        """Make a commit of the notes with all changes, and return its id."""
        entries = ((raw, mode, sha) for raw, (mode, sha) in self._entries.items())
        tree = write_tree_objects(entries, partial(self._keep, "tree"))
        return self._keep(
            "commit", format_commit_content(tree, [] if parent is None else [parent], message, at_seconds)
        )
