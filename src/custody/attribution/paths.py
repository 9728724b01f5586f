"""Which file of a repository a trace's path names (document 000, section 4).

This file is the only one that decides it.
"""

from collections.abc import Collection, Iterator

from custody.core.paths import RepoPath


def file_named(traced: RepoPath, files: Collection[RepoPath]) -> RepoPath | None:
    """The file that ``traced`` names: itself, else the only one whose path ends with it or that it ends with.

    Whole names only, and never where the exact path exists: ``log.js`` is not ``blog.js``.
    """
    if traced in files:
        return traced
    fitting = [file for file in files if could_name(traced, file)]
    return fitting[0] if len(fitting) == 1 else None


def could_name(traced: RepoPath, path: RepoPath) -> bool:
    """Whether ``traced`` may name ``path``, as far as the two alone tell."""
    return traced == path or _is_end(traced, path) or _is_end(path, traced)


def endings(path: RepoPath) -> Iterator[RepoPath]:
    """``path`` and its shorter ends, the longest first.

    >>> [str(end) for end in endings(RepoPath(b"a/b/c.py"))]
    ['a/b/c.py', 'b/c.py', 'c.py']
    """
    parts = path.raw.split(b"/")
    for at in range(len(parts)):
        yield RepoPath(b"/".join(parts[at:]))


def _is_end(end: RepoPath, path: RepoPath) -> bool:
    return path.raw.endswith(b"/" + end.raw)
