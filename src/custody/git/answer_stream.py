"""A stream of parsed answers that owns the git behind it."""

from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Generic, Self, TypeVar

from custody.git.process import Child

T = TypeVar("T")


class AnswerStream(Generic[T]):
    """Iterate to get git's answers as they come: git already works while you do something else.

    Git ends with the last answer, on the first error, when the ``with`` block is left or when this is dropped.
    """

    def __init__(self, child: Child, parse: Callable[[Iterable[bytes]], Iterator[T]]) -> None:
        self._child = child
        self._items = parse(child.chunks())

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        try:
            return next(self._items)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End git if it still runs; more than once is fine."""
        self._child.close()
