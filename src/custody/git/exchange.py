"""Evidence by git: objects of our own that are fetched from a remote and pushed to it, under references of our own.

The objects lie in a folder of custody's, not among the repository's. A git process here lives in a folder that is made
for it and goes with it, so that the repository's configuration is never read (``exchange`` in surroundings.py).
"""

import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from custody.core.errors import GitError, WorldError
from custody.core.ids import CommitSha
from custody.git.argument import full_id
from custody.git.command import Git, git_program
from custody.git.environment import (
    EXCHANGE_SETTINGS,
    OTHER_SIDE,
    exchange_environment,
    sealed_environment,
    sealed_file,
)
from custody.git.failure import printable
from custody.git.loose_object import SPACE, commit_content, keep_loose, write_at_once
from custody.git.object_parser import Object, read_object
from custody.git.object_reader import ObjectReader
from custody.git.process import USUAL, ProcessLimits
from custody.git.ref_parser import Ref
from custody.git.remotes import RemoteUrl
from custody.git.tree_command import tree
from custody.git.tree_objects import write_trees

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
