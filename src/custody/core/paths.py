"""Paths inside a repository, safe for any bytes a file name may hold."""

from dataclasses import dataclass

from custody.core.errors import InputError

PATH_BYTES_MAX = 4096


@dataclass(frozen=True, slots=True, order=True)
class RepoPath:
    """A file's path relative to the repository's root: bytes, ``/`` between parts, never leaving the root."""

    raw: bytes

    def __post_init__(self) -> None:
        if problem := _problem(self.raw):
            raise InputError(
                f"'{self.display[:200]}' {problem}",
                hint="paths are relative to the repository root, with '/' between parts and no '..'",
            )

    @classmethod
    def of(cls, text: str) -> "RepoPath":
        """Read the wire form: bytes that are not UTF-8 stand as lone surrogates (PEP 383)."""
        try:
            return cls(text.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError as error:
            raise InputError(f"{ascii(text)[:200]} has a lone surrogate that stands for no byte") from error

    def __str__(self) -> str:
        return self.raw.decode("utf-8", "surrogateescape")

    @property
    def display(self) -> str:
        """For people: printable on any terminal, whatever bytes the name holds."""
        text = self.raw.decode("utf-8", "backslashreplace")
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)

    @property
    def name(self) -> bytes:
        """The last part."""
        return self.raw.rpartition(b"/")[2]


def _problem(raw: bytes) -> str | None:
    if not raw:
        return "is empty"
    if len(raw) > PATH_BYTES_MAX:
        return f"is longer than {PATH_BYTES_MAX} bytes"
    if b"\0" in raw:
        return "holds a NUL byte"
    if raw.startswith(b"/"):
        return "is absolute"
    parts = raw.split(b"/")
    if b".." in parts:
        return "leaves the repository"
    if b"" in parts or b"." in parts:
        return "is not in its shortest form"
    return None
