"""Changing a few bytes of a file and taking exactly that change back, also after others have edited the file. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ByteSwap:
    """At ``at`` of the old bytes, ``was`` becomes ``now``. An insertion has an empty ``was``.

    Where a comma and what it announces stand on two sides of somebody's comment, ``was`` is that comment.
    """

    at: int
    was: bytes
    now: bytes


def apply_swaps(data: bytes, swaps: Iterable[ByteSwap]) -> bytes:
    """``data`` with every swap made; they may not overlap."""
    pieces, done = list[bytes](), 0
    for swap in sorted(swaps, key=lambda swap: swap.at):
        if swap.at < done or data[swap.at : swap.at + len(swap.was)] != swap.was:
            raise ValueError("the swaps are not of these bytes")
        pieces += (data[done : swap.at], swap.now)
        done = swap.at + len(swap.was)
    return b"".join((*pieces, data[done:]))


def revert_swaps(data: bytes, swaps: Sequence[ByteSwap]) -> bytes | None:
    """``data`` without what the swaps put in, found by its bytes; None when one of them is not there exactly once."""
    for swap in swaps:
        if data.count(swap.now) != 1:
            return None
        data = data.replace(swap.now, swap.was)
    return data


def unswapped(data: bytes, swaps: Iterable[ByteSwap]) -> bytes:
    """The bytes that became exactly ``data`` by these swaps."""
    pieces, done, grown = list[bytes](), 0, 0
    for swap in sorted(swaps, key=lambda swap: swap.at):
        at = swap.at + grown
        if data[at : at + len(swap.now)] != swap.now:
            raise ValueError("the swaps did not make these bytes")
        pieces += (data[done:at], swap.was)
        done = at + len(swap.now)
        grown += len(swap.now) - len(swap.was)
    return b"".join((*pieces, data[done:]))
