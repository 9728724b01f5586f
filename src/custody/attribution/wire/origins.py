"""Where the lines of one file come from, as one store tells another: keys of lines and origins, never a text.

A key stands for a line without its white space; whoever guesses a line can confirm the guess.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from custody.core.errors import InputError
from custody.core.paths import RepoPath
from custody.core.wire.canonical import dump, parse, problem

FILE_BYTES_MAX = 64 * 1024 * 1024
LINES_MAX = 5_000_000
"""Of one state: no file that anybody wrote has as many."""
KEY_BYTES = 8
KEYS_MAX = 50_000_000
"""Lines of all states of one file: a few words could stand for any number."""

PackedOrigins = list[tuple[int, int] | str]
"""Keys: stretches of the state before (from where, how many), and others in base64, 8 bytes each."""
StatePlace = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Word = Annotated[str, Meta(pattern=r"^[^\x00\ud800-\udfff]*$(?!\n)")]
"""What every database holds: no zero sign, no half of a pair."""
ShareValue = Annotated[float, Meta(ge=0, le=1)]
Run = tuple[Annotated[int, Meta(ge=1, le=LINES_MAX)], Word, ShareValue]
"""How many lines, whose they are (see ``app.origin_names``), and the agent's share."""


class StateOrigin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One state of the file after a captured moment; ``seq`` and ``n`` say which view of which record shows it."""

    seq: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    n: StatePlace
    at_ns: Annotated[int, Meta(ge=-(2**63 - 1), le=2**63 - 1)]
    observed: Word
    agent: Word
    session: Word | None
    call: Word | None
    revision: Word | None
    kind: Word
    keys: PackedOrigins
    before: PackedOrigins
    runs: list[Run]
    brought: str
    """The keys of lines that say something and that its call wrote."""
    order: StatePlace
    """When it was replayed, among all states of its chain."""
    redacted: bool = False


class MatchedLines(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The lines of a commit that are like lines of a state: their place, how like, whose, and with what share."""

    commit: Annotated[str, Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$(?!\n)")]
    seq: Annotated[int, Meta(ge=1, le=2**63 - 1)]
    n: StatePlace
    lines: list[tuple[StatePlace, float, Word, ShareValue]]


class FileOrigins(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file: its states in the order in which they were replayed, and what later commits have like them."""

    version: Annotated[int, Meta(ge=1, le=1)]
    path: str
    states: list[StateOrigin]
    likes: list[MatchedLines]


def encode_origins(told: FileOrigins) -> bytes:
    """The canonical bytes."""
    return dump(msgspec.to_builtins(told))


def decode_origins(data: bytes) -> FileOrigins:
    """Read what ``encode_origins`` wrote, or raise an ``InputError`` that says what it is instead."""
    try:
        told = msgspec.convert(parse(data, bytes_max=FILE_BYTES_MAX), FileOrigins)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"origins of lines cannot be read: {problem(error)}", hint="upgrade custody") from error
    RepoPath.of(told.path)
    return told


def unpacked_states(told: FileOrigins) -> Iterator[tuple[StateOrigin, list[int], list[int]]]:
    """Every state with the keys of its lines and of those before its call; an ``InputError`` if they do not fit."""
    last: list[int] = []
    total = 0
    for state in told.states:
        before, keys = unpack_keys(state.before, last), unpack_keys(state.keys, last)
        total += len(before) + len(keys)
        if total > KEYS_MAX:
            raise InputError(f"origins of one file tell of more than {KEYS_MAX:,} lines", hint="no custody writes this")
        if sum(count for count, _, _ in state.runs) != len(keys):
            raise InputError("origins of lines do not fit their state", hint="no custody writes this")
        yield state, keys, before
        last = keys


def pack_keys(keys: Sequence[int], same: Iterable[tuple[int, int, int]]) -> PackedOrigins:
    """Keys as stretches that the state before has too (from where there, from where here, how many), and the rest.

    >>> pack_keys([1, 2, 9, 3], [(0, 0, 2), (2, 3, 1)])
    [(0, 2), 'CQAAAAAAAAA=', (2, 1)]
    """
    packed: PackedOrigins = []
    at = 0
    for old, new, length in same:
        if new > at:
            packed.append(keys_text(keys[at:new]))
        packed.append((old, length))
        at = new + length
    if at < len(keys):
        packed.append(keys_text(keys[at:]))
    return packed


def unpack_keys(packed: PackedOrigins, last: Sequence[int]) -> list[int]:
    """The keys that ``pack_keys`` packed.

    >>> unpack_keys([(0, 2), "CQAAAAAAAAA=", (2, 1)], [1, 2, 3])
    [1, 2, 9, 3]
    """
    keys: list[int] = []
    for piece in packed:
        if isinstance(piece, str):
            keys.extend(text_keys(piece))
        else:
            first, count = piece
            if first < 0 or count < 1 or first + count > len(last):
                raise InputError("origins of lines name lines that are not there", hint="no custody writes this")
            keys.extend(last[first : first + count])
        if len(keys) > LINES_MAX:
            raise InputError("a state has too many lines", hint="no custody writes this")
    return keys


def keys_text(keys: Sequence[int]) -> str:
    """Keys in base64, the lowest byte of each first."""
    return b64encode(b"".join(key.to_bytes(KEY_BYTES, "little", signed=True) for key in keys)).decode()


def text_keys(text: str) -> list[int]:
    """The keys that ``keys_text`` wrote."""
    try:
        data = b64decode(text, validate=True)
    except (Base64Error, ValueError) as error:
        raise InputError(f"keys of lines cannot be read: {error}", hint="no custody writes this") from error
    if len(data) % KEY_BYTES:
        raise InputError("keys of lines are cut short", hint="no custody writes this")
    return [int.from_bytes(data[at : at + KEY_BYTES], "little", signed=True) for at in range(0, len(data), KEY_BYTES)]
