"""A span as OpenTelemetry sends it, before it is one of ours; what was mended while it was read; how much is read.

This file is the only one that says which ids of spans are OpenTelemetry's own and what becomes of others.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from custody.core.wire.canonical import text_bytes

OtlpValue = None | bool | int | float | str | bytes | list["OtlpValue"] | dict[str, "OtlpValue"]
"""What an attribute can hold."""

OBJECT_BYTES_MAX = 32 << 20
"""One JSON value or one protobuf message of more bytes is not read: larger exports come in lines or in frames."""
NS_MAX = 2**63 - 1
"""The latest moment that a store can hold; OpenTelemetry's field could hold later ones."""
COUNT_MAX = 2**32 - 1
"""The most that OpenTelemetry's counts hold."""
TRACE_BYTES = 16
SPAN_BYTES = 8
_NOTHING: Mapping[str, OtlpValue] = MappingProxyType({})
_HEX = re.compile(r"(?:0[xX])?([0-9a-fA-F]+)", re.ASCII)


def _nothing() -> Mapping[str, OtlpValue]:
    return _NOTHING


class OtlpRepair(Enum):
    """One code for each thing that is mended or passed over on the way in; the value is the sentence for it."""

    UNREADABLE = "no span could be made of it: it was passed over"
    NO_TIME = "it says neither when it began nor when it ended: it is dated 1970, and without an end"
    BAD_TIME = "a time is none that a clock shows: it counts as missing"
    NO_START = "it was seen to end, and not to begin"
    NO_END = "it was seen to begin, and not to end"
    BACKWARDS = "it ended before it began: it is kept as told, and read as having ended at once"
    OWN_PARENT = "it named itself as what it ran in: it is kept without a parent"
    BAD_NAME = "its name was missing, too long or held control characters: it was made to fit"
    LINKS = "it had more links than are kept"
    REPEATED = "the same span came again in these files: it was passed over"
    SAME_ID = "a span came under an id that another content has: both are kept"
    LATE_PARENT = "it came before what it ran in, which came later"
    NO_PARENT = "what it ran in never came: its name is kept, and read as a link"

    @property
    def label(self) -> str:
        """The code as it is printed: ``no-parent``."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class OtlpProblem:
    """Something that gave no span, and why."""

    what: str


@dataclass(frozen=True, slots=True)
class OtlpLink:
    """Another span that one points at; ``trace`` is None where nobody said of which trace."""

    trace: str | None
    span: str
    attributes: Mapping[str, OtlpValue] = field(default_factory=_nothing, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtlpSpan:
    """A span with OpenTelemetry's names; ids in lower-case hex where they are its own, else as they came.

    ``status`` is 0 for unset, 1 for ok, 2 for an error. A time is None where it is missing; ``bad_times`` counts those
    that were there and are none.
    """

    trace: str
    id: str
    name: str
    parent: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    status: int = 0
    message: str = ""
    attributes: Mapping[str, OtlpValue] = field(default_factory=_nothing, hash=False)
    dropped: int = 0
    links: tuple[OtlpLink, ...] = ()
    resource: Mapping[str, OtlpValue] = field(default_factory=_nothing, hash=False)
    bad_times: int = 0


def id_of(text: str, size: int) -> str | None:
    """An id as hex or base64 says it, in lower-case hex; any other text as it is; None for an empty or a zero one.

    >>> id_of("0x00F067AA0BA902B7", 8), id_of("APBnqgupArc=", 8), id_of("0000000000000000", 8), id_of("step-1", 8)
    ('00f067aa0ba902b7', '00f067aa0ba902b7', None, 'step-1')
    """
    text = text.strip()
    digits = _HEX.fullmatch(text)
    if digits is not None and len(digits[1]) == 2 * size:
        return digits[1].lower() if digits[1].strip("0") else None
    if len(text) == 4 * -(-size // 3):
        try:
            raw = base64.b64decode(text, validate=True)
        except binascii.Error:
            return text
        if len(raw) == size:
            return raw.hex() if any(raw) else None
    return text or None


def is_own(id: str, size: int) -> bool:
    """Whether an id can be sent as OpenTelemetry's own and comes back the same."""
    return len(id) == 2 * size and id_of(id, size) == id


def stand_in(id: str, size: int) -> str:
    """An id of OpenTelemetry's size for one of another shape: the same for the same, and not to be told back."""
    return hashlib.sha256(b"custody-span-id\0" + id.encode("utf-8", "surrogatepass")).hexdigest()[: 2 * size]


def time_of(value: int) -> int | None:
    """A time that is there, or None for OpenTelemetry's zero; a ``ValueError`` for one that no store can hold."""
    if not 0 <= value <= NS_MAX:
        raise ValueError("no moment")
    return value or None


# Names and texts made to fit a span event: whatever a program calls its spans, they can be kept.
# This file is the only one that says what becomes of a name that does not fit.


NAME_SIGNS_MAX = 200
KEY_SIGNS_MAX = 100
TEXT_SIGNS_MAX = 1000
NAMELESS = "unnamed"
_KEPT_SIGNS = 180
_DIGITS = 16

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


def fit_name(text: str, signs_max: int = NAME_SIGNS_MAX) -> str:
    """``text`` as a name that a span can have: one of its own where it is too long, so that two stay two.

    >>> fit_name("read_file"), fit_name(" two\\nlines "), fit_name(""), len(fit_name("x" * 300))
    ('read_file', 'two lines', 'unnamed', 197)
    """
    if 0 < len(text) <= signs_max and not _CONTROL.search(text):
        return text
    plain = _CONTROL.sub(" ", text).strip()
    if not plain:
        return NAMELESS
    if len(plain) <= signs_max:
        return plain
    return f"{plain[:_KEPT_SIGNS]}…{hashlib.sha256(text_bytes(text)).hexdigest()[:_DIGITS]}"


def fit_key(key: str) -> str | None:
    """The name of an attribute, or None when it is none that can be kept."""
    return key if 0 < len(key) <= KEY_SIGNS_MAX and not _CONTROL.search(key) else None


def fit_text(text: str) -> str:
    """A text without what no store can hold."""
    return _UNSTORABLE.sub("\ufffd", text)


def truncate_span_text(text: str) -> str:
    """As much of a text as stays in a span.

    >>> truncate_span_text("short"), len(truncate_span_text("x" * 5000))
    ('short', 1000)
    """
    return text if len(text) <= TEXT_SIGNS_MAX else f"{text[: TEXT_SIGNS_MAX - 1]}…"
