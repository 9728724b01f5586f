"""Plain text tables, for people and for ``grep``."""

from collections.abc import Sequence

Row = Sequence[str]


def columns(header: Row, rows: Sequence[Row]) -> str:
    """Format ``rows`` under ``header``, padded to the widest cell, two spaces apart.

    >>> print(columns(("name", "n"), [("a", "1"), ("long name", "22")]), end="")
    name       n
    a          1
    long name  22
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (header, *rows))
    return "".join(f"{line.rstrip()}\n" for line in lines)
