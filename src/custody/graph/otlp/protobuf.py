"""Protobuf's wire format, as much of it as OTLP needs: fields in, fields out.

Nothing here knows a message; ``otlp_proto`` does. What is cut short or makes no sense is a ``ValueError``.
"""

import struct
from collections.abc import Iterator

VARINT, FIXED64, BYTES, GROUP, GROUP_END, FIXED32 = range(6)
VARINT_BYTES_MAX = 10
_WRAP = 2**64

Field = tuple[int, int, int | bytes]
"""Its number, its wire type, and a whole number (varint, fixed) or bytes."""


class TruncatedMessage(ValueError):
    """The bytes end before what they announce."""

    def __init__(self, number: int = 0, rest: bytes = b"") -> None:
        super().__init__("cut short")
        self.number = number
        """The field whose bytes are not all there; 0 where it is not even known which."""
        self.rest = rest


def fields_of(data: bytes) -> Iterator[Field]:
    """The fields of one message in the order in which they stand; groups, which nobody writes any more, are refused.

    >>> list(fields_of(bytes.fromhex("0801120161")))
    [(1, 0, 1), (2, 2, b'a')]
    """
    at, size = 0, len(data)
    while at < size:
        tag, at = varint(data, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise ValueError("a field without a number")
        value: int | bytes
        if wire == VARINT:
            value, at = varint(data, at)
        elif wire == BYTES:
            length, at = varint(data, at)
            if length > size - at:
                raise TruncatedMessage(number, data[at:])
            value, at = data[at : at + length], at + length
        elif wire in (FIXED64, FIXED32):
            end = at + (8 if wire == FIXED64 else 4)
            if end > size:
                raise TruncatedMessage
            value, at = int.from_bytes(data[at:end], "little"), end
        else:
            raise ValueError(f"a field of wire type {wire}")
        yield number, wire, value


def varint(data: bytes, at: int) -> tuple[int, int]:
    """A number that takes as many bytes as it needs, and where the next one stands."""
    value = 0
    for count in range(VARINT_BYTES_MAX):
        if at + count >= len(data):
            raise TruncatedMessage
        byte = data[at + count]
        value |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            return value % _WRAP, at + count + 1
    raise ValueError("a number of more than 64 bits")


def decode_signed(value: int) -> int:
    """An ``int64`` from the bits that a varint holds."""
    return value - _WRAP if value >= _WRAP // 2 else value


def double(value: int) -> float:
    """A ``double`` from the bits that a fixed field holds."""
    (number,) = struct.unpack("<d", value.to_bytes(8, "little"))
    return float(number)


def put_varint(value: int) -> bytes:
    """A number as a varint; negative ones as their 64 bits.

    >>> put_varint(300).hex(), len(put_varint(-1))
    ('ac02', 10)
    """
    value %= _WRAP
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def encode_field(number: int, value: int | bytes) -> bytes:
    """One field: bytes with their length, a whole number as a varint."""
    if isinstance(value, bytes):
        return put_varint(number << 3 | BYTES) + put_varint(len(value)) + value
    return put_varint(number << 3 | VARINT) + put_varint(value)


def put_fixed64(number: int, value: int | float) -> bytes:
    """One field of eight bytes: a whole number or a double."""
    return put_varint(number << 3 | FIXED64) + struct.pack("<d" if isinstance(value, float) else "<Q", value)
