"""A stretch of one file."""

from dataclasses import dataclass

from custody.core.errors import InputError


@dataclass(frozen=True, slots=True, order=True)
class Lines:
    """From line ``first`` to line ``last`` of one file: 1-based, both ends included."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last:
            raise InputError(
                f"'{self.first}-{self.last}' is not a stretch of lines",
                hint="lines count from 1 and the last is not before the first",
            )

    def __len__(self) -> int:
        return self.last - self.first + 1

    def __contains__(self, line: int) -> bool:
        return self.first <= line <= self.last

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"

    @property
    def midpoint(self) -> int:
        """The line that stands for the stretch (document 000, section 2).

        >>> Lines(10, 13).midpoint
        11
        """
        return (self.first + self.last) // 2

    def gap_to(self, other: "Lines") -> int:
        """How many lines one must move to touch the other; 0 when they share one.

        >>> Lines(1, 3).gap_to(Lines(5, 9)), Lines(1, 3).gap_to(Lines(3, 9))
        (2, 0)
        """
        return max(0, other.first - self.last, self.first - other.last)
