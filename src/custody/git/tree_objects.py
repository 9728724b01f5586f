"""Making trees of a list of files, as git writes them. Pure: entries in, contents of objects out."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

FOLDER = 0o040000


@dataclass(frozen=True, slots=True)
class _OpenTree:
    """A folder some of whose entries are still to come."""

    name: bytes
    lines: list[bytes] = field(default_factory=list)


def write_trees(entries: Iterable[tuple[bytes, int, str]], keep: Callable[[bytes], str]) -> str:
    """The id of the tree with these paths, modes and ids; ``keep`` is given every tree's content and tells its id.

    In the order of whole paths the entries of each folder come in git's own order, and a folder's all together.
    """
    stack = [_OpenTree(b"")]
    for path, mode, sha in sorted(entries):
        *folders, name = path.split(b"/")
        _close(stack, _shared(stack, folders) + 1, keep)
        stack.extend(_OpenTree(folder) for folder in folders[len(stack) - 1 :])
        stack[-1].lines.append(_line(mode, name, sha))
    _close(stack, 1, keep)
    return keep(b"".join(stack[0].lines))


def folders_of(path: bytes) -> Iterator[bytes]:
    """The folders around ``path``, from the top.

    >>> list(folders_of(b"a/b/c"))
    [b'a', b'a/b']
    """
    end = path.find(b"/")
    while end >= 0:
        yield path[:end]
        end = path.find(b"/", end + 1)


def _shared(stack: list[_OpenTree], folders: list[bytes]) -> int:
    count = 0
    for opened, folder in zip(stack[1:], folders, strict=False):
        if opened.name != folder:
            break
        count += 1
    return count


def _close(stack: list[_OpenTree], count: int, keep: Callable[[bytes], str]) -> None:
    """Leave only the outer ``count`` folders open."""
    while len(stack) > count:
        done = stack.pop()
        stack[-1].lines.append(_line(FOLDER, done.name, keep(b"".join(done.lines))))


def _line(mode: int, name: bytes, sha: str) -> bytes:
    return b"%o %s\0%s" % (mode, name, bytes.fromhex(sha))
