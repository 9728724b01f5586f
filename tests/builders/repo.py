"""Real repositories for tests, made by plain git: any bytes as names, renames, merges, worktrees, bare, SHA-256."""

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from custody.core.ids import CommitSha

NOON = 1_700_000_000
FILE, PROGRAM, LINK, SUBMODULE = "100644", "100755", "120000", "160000"

Files = Mapping[bytes, bytes | tuple[str, bytes]]
"""Contents by path, or mode and contents; of a submodule the contents are the id of its commit."""


@dataclass
class Built:
    """A repository under construction; its methods run git as a user would, not through custody."""

    path: Path
    format: str = "sha1"
    _commits: int = field(default=0, init=False)

    def git(self, *arguments: str | bytes, feed: bytes = b"", environment: Mapping[str, str] | None = None) -> bytes:
        """Run ``git <arguments>`` in this repository and return its output."""
        answer = subprocess.run(
            ("git", *arguments),
            cwd=self.path,
            input=feed,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            check=False,
        )
        assert answer.returncode == 0, (arguments, answer.stderr)
        return answer.stdout

    def commit(
        self,
        files: Files,
        *parents: CommitSha,
        message: bytes = b"a change",
        author: bytes = b"A Tester <tester@example.invalid>",
        at: int | None = None,
        ref: str = "refs/heads/main",
    ) -> CommitSha:
        """Make a commit of exactly ``files``; ``ref`` names it afterwards. Nothing is checked out."""
        return self.commits([(files, parents)], message=message, author=author, at=at, ref=ref)[0]

    def commits(
        self,
        wanted: Sequence[tuple[Files, Sequence[CommitSha | int]]],
        *,
        message: bytes = b"a change",
        author: bytes = b"A Tester <tester@example.invalid>",
        at: int | None = None,
        ref: str = "refs/heads/main",
    ) -> list[CommitSha]:
        """Make commits with their files and parents in one process; a number names the commit at that position."""
        stream = []
        for place, (files, parents) in enumerate(wanted):
            self._commits += 1
            seconds = NOON + 60 * self._commits if at is None else at
            signature = b"%s %d +0000" % (author, seconds)
            stream.append(_stream(ref, place, files, parents, message, signature))
        made = self.git("fast-import", "--quiet", "--force", feed=b"".join(stream))
        return [CommitSha(sha) for sha in made.decode().split()]

    def checkout(self, ref: str = "main") -> None:
        """Bring the files of ``ref`` into the work tree."""
        self.git("checkout", "--quiet", "--force", ref)

    def head(self) -> CommitSha:
        """Return the commit that HEAD names."""
        return CommitSha(self.git("rev-parse", "HEAD").decode().strip())

    def lose(self, content: bytes) -> None:
        """Delete a blob, so that the repository lacks it as a partial clone does."""
        sha = self.git("hash-object", "--stdin", feed=content).decode().strip()
        (self.path / ".git" / "objects" / sha[:2] / sha[2:]).unlink()

    def blob(self, commit: CommitSha, path: bytes) -> bytes:
        """Return the contents of ``path`` in ``commit``."""
        return self.git("cat-file", "blob", commit.encode() + b":" + path)


def a_repository(folder: Path, *, bare: bool = False, object_format: str = "sha1") -> Built:
    """Return an empty repository in ``folder``, on the branch ``main`` without commits."""
    folder.mkdir(parents=True, exist_ok=True)
    options = ["--bare"] if bare else []
    built = Built(folder, object_format)
    built.git("init", "--quiet", "--initial-branch=main", f"--object-format={object_format}", *options)
    return built


def a_worktree(built: Built, folder: Path, ref: str = "main") -> Built:
    """Add a work tree of ``built`` with a detached HEAD."""
    built.git("worktree", "add", "--quiet", "--detach", os.fspath(folder), ref)
    return Built(folder, built.format)


def a_clone(built: Built, folder: Path, *options: str) -> Built:
    """Return a clone of ``built`` as over a network, for example with ``--depth=1``."""
    built.git("clone", "--quiet", *options, f"file://{built.path}", os.fspath(folder))
    return Built(folder, built.format)


def a_history(built: Built, *versions: Files) -> list[CommitSha]:
    """Make one commit per version, with exactly its files."""
    return built.commits([(files, [place - 1] if place else []) for place, files in enumerate(versions)])


def _stream(
    ref: str, place: int, files: Files, parents: Iterable[CommitSha | int], message: bytes, signature: bytes
) -> bytes:
    names = [b":%d" % (parent + 1) if isinstance(parent, int) else parent.encode() for parent in parents]
    return b"".join(
        (
            b"reset %s\n" % ref.encode(),
            b"commit %s\nmark :%d\n" % (ref.encode(), place + 1),
            b"author %s\ncommitter %s\n" % (signature, signature),
            b"data %d\n%s\n" % (len(message), message),
            *(b"%s %s\n" % (b"merge" if number else b"from", name) for number, name in enumerate(names)),
            b"deleteall\n",
            *(_entry(path, value) for path, value in files.items()),
            b"get-mark :%d\n" % (place + 1),
        )
    )


def _entry(path: bytes, value: bytes | tuple[str, bytes]) -> bytes:
    mode, content = (FILE, value) if isinstance(value, bytes) else value
    quoted = b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"'
    if mode == SUBMODULE:
        return b"M %s %s %s\n" % (mode.encode(), content, quoted)
    return b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), quoted, len(content), content)
