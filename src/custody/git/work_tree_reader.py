"""Reading the files of a work tree into objects, as git would commit them."""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from custody.git.attributes import Attributes, attributes, other_conversion
from custody.git.index_parser import mode_on_disk
from custody.git.line_endings import as_committed, endings
from custody.git.object_parser import Object
from custody.git.object_reader import ObjectReader
from custody.git.work_tree_file import NoWorkFile, read_work_file
from custody.git.work_tree_index import IndexedFile, PendingFile, WorkTreeScan, is_unchanged, keep_index_entry


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLimits:
    """How much of a work tree is read; what is beyond is left out and named."""

    file_bytes_max: int = 16 << 20
    all_bytes_max: int = 1 << 30
    """Of all files that are read, changed and untracked ones together."""
    untracked_files_max: int = 10_000


USUAL_WORK = WorkLimits()


class WorkReader:
    """Makes objects of files; ``indexed`` is where their versions in the index are read."""

    def __init__(self, here: WorkTreeScan, limits: WorkLimits, indexed: ObjectReader[Object]) -> None:
        self._here = here
        self._limits = limits
        self._indexed = indexed
        self._left_bytes = limits.all_bytes_max

    def read_all(self, wanted: Sequence[PendingFile]) -> Iterator[IndexedFile | NoWorkFile]:
        """What the commit has at each of these paths, and what is left out."""
        for file, file_attributes in self._with_attributes(wanted):
            answer = self._read(file, file_attributes)
            if isinstance(answer, IndexedFile):
                yield answer
            elif file.entry and is_unchanged(self._here, file.entry, file.found, by_seconds=False):
                yield IndexedFile(file.path, file.entry.mode, file.entry.id)
            else:
                yield from keep_index_entry(file.entry, answer)

    def _with_attributes(self, wanted: Sequence[PendingFile]) -> Iterator[tuple[PendingFile, Attributes]]:
        if not wanted:
            return
        with attributes(self._here.git, (file.path for file in wanted)) as answers:
            yield from zip(wanted, answers, strict=True)

    def _read(self, file: PendingFile, found: Attributes) -> IndexedFile | NoWorkFile:
        mode = mode_on_disk(file.found, file.entry, self._here.settings)
        if stat.S_ISLNK(file.found.st_mode):
            return self._kept(file, mode, self._link(file))
        if why := other_conversion(found, self._here.settings.filters):
            return NoWorkFile(file.path, why)
        return self._kept(file, mode, self._content(file, found))

    def _link(self, file: PendingFile) -> bytes | NoWorkFile:
        try:
            return os.readlink(self._here.disk.name(file.path))
        except OSError as error:
            return NoWorkFile(file.path, f"cannot be read: {error.strerror}")

    def _content(self, pending_file: PendingFile, found: Attributes) -> bytes | NoWorkFile:
        if pending_file.found.st_size > self._left_bytes:
            return NoWorkFile(pending_file.path, f"would make more than {self._limits.all_bytes_max} bytes to be read")
        file = read_work_file(self._here.work_tree, pending_file.path, self._limits.file_bytes_max)
        if isinstance(file, NoWorkFile):
            return file
        self._left_bytes -= len(file.content)
        how = endings(found, guess=self._here.settings.guesses_endings)
        return as_committed(file.content, how, lambda: self._version_in_index(pending_file))

    def _kept(self, file: PendingFile, mode: int, content: bytes | NoWorkFile) -> IndexedFile | NoWorkFile:
        if isinstance(content, NoWorkFile):
            return content
        known = file.entry.id if file.entry else None
        return IndexedFile(file.path, mode, self._here.private.keep("blob", content, known))

    def _version_in_index(self, file: PendingFile) -> bytes:
        known = self._indexed.read(file.entry.id) if file.entry else None
        return known.content if isinstance(known, Object) and known.info.kind == "blob" else b""
