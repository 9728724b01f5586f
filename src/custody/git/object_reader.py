"""``git cat-file`` kept open for as many objects as one likes."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import TracebackType
from typing import Generic, Self, TypeVar

from custody.git.argument import full_id, some_id
from custody.git.chunk_reader import ChunkReader
from custody.git.command import Git
from custody.git.object_parser import FileAt, NoObject
from custody.git.process import Child
from custody.git.tree_parser import parse_tree

ParsedObject = TypeVar("ParsedObject")

_TOGETHER = 512
_NO_ID = b"0" * 40


@dataclass(frozen=True, slots=True)
class _BatchHeader:
    child: Child
    reader: ChunkReader


class ObjectReader(Generic[ParsedObject]):
    """Finds objects by id, by the unique start of one, or as ``FileAt``; git starts with the first question."""

    def __init__(self, git: Git, form: str, take: Callable[[ChunkReader], ParsedObject | NoObject]) -> None:
        self._git = git
        self._form = form
        self._take = take
        self._idle: list[_BatchHeader] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End git; a later question starts it again."""
        while self._idle:
            self._idle.pop().child.close()

    def read(self, name: str | FileAt) -> ParsedObject | NoObject:
        """The object called ``name``, or why there is none."""
        (answer,) = self.read_all((name,))
        return answer

    def read_all(self, names: Iterable[str | FileAt]) -> Iterator[ParsedObject | NoObject]:
        """One answer for each of ``names``, in their order, as they come; only one is in memory at a time."""
        # A line serves one reading at a time: questions asked while another is under way get a line of their own.
        line = self._idle.pop() if self._idle else self._connect()
        try:
            yield from self._converse(line, iter(names))
        except BaseException:
            line.child.close()  # answers may still be on the line, so nobody can use it again
            raise
        self._idle.append(line)

    def _converse(self, line: _BatchHeader, names: Iterator[str | FileAt]) -> Iterator[ParsedObject | NoObject]:
        while together := tuple(islice(names, _TOGETHER)):
            said_bytes = line.child.said_bytes()
            questions = [self._question(name) for name in together]
            line.child.ask(b"".join(questions))
            for name, question in zip(together, questions, strict=True):
                answer = self._take(line.reader)
                if isinstance(answer, NoObject):
                    complained = line.child.said_bytes() > said_bytes
                    damaged = complained and answer.reason == "missing" and self._is_damaged(question)
                    yield NoObject(str(name), "damaged" if damaged else answer.reason)
                else:
                    yield answer

    def _is_damaged(self, question: bytes) -> bool:
        """Whether git complains when it is asked this alone: it calls a damaged object missing, but not silently."""
        line = self._connect()
        with line.child:
            line.child.ask(question)
            self._take(line.reader)
            return line.child.said_bytes() > 0

    def _connect(self) -> _BatchHeader:
        child = self._git.connect("cat-file", self._form)
        return _BatchHeader(child, ChunkReader(child.chunks()))

    def _question(self, name: str | FileAt) -> bytes:
        if isinstance(name, str):
            return some_id(name).encode("ascii") + b"\n"
        raw = name.path.raw
        # cat-file reads lines and drops a carriage return at their end; these few names are looked up otherwise.
        if b"\n" in raw or raw.endswith(b"\r"):
            return self._looked_up(name) + b"\n"
        return full_id(name.commit).encode("ascii") + b":" + raw + b"\n"

    def _looked_up(self, name: FileAt) -> bytes:
        answer = self._git.run("ls-tree", "-z", "--full-tree", full_id(name.commit), "--", name.path.raw)
        return next((entry.id.encode("ascii") for entry in parse_tree((answer,))), _NO_ID)
