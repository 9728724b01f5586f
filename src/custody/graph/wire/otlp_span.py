"""An OpenTelemetry span before it becomes an event, the repairs while reading it, and the limits of reading.

Only this file defines which span ids are OpenTelemetry's own and how others are converted.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from msgspec import Struct, field

from custody.core.patterns import lazy_pattern
from custody.core.structs import hash_struct
from custody.core.wire.canonical import encode_json_text

OtlpValue = None | bool | int | float | str | bytes | list["OtlpValue"] | dict[str, "OtlpValue"]
"""An attribute's value."""

OBJECT_BYTES_MAX = 32 << 20
"""A larger JSON value or protobuf message is not read: larger exports come in lines or in frames."""
NS_MAX = 2**63 - 1
"""The latest time that a store can hold; OpenTelemetry's field could hold later ones."""
COUNT_MAX = 2**32 - 1
"""The maximum of OpenTelemetry's counts."""
TRACE_BYTES = 16
SPAN_BYTES = 8
_NOTHING: Mapping[str, OtlpValue] = MappingProxyType({})
_HEX = lazy_pattern(r"(?:0[xX])?([0-9a-fA-F]+)", re.ASCII)


def _empty_otlp_attributes() -> Mapping[str, OtlpValue]:
    return _NOTHING


class OtlpRepair(Enum):
    """One code per kind of repair on import; the value is the sentence for it."""

    UNREADABLE = "skipped: not a readable span"
    NO_TIME = "no start and no end time: dated 1970, without an end"
    BAD_TIME = "invalid time, treated as missing"
    NO_START = "ended without a start"
    NO_END = "started without an end"
    BACKWARDS = "ended before it started: stored as reported, read with its start as its end"
    OWN_PARENT = "named itself as its parent: stored without a parent"
    BAD_NAME = "name missing, too long or with control characters: adjusted"
    LINKS = "links over the limit: the rest was dropped"
    REPEATED = "skipped: the same span is in these files more than once"
    SAME_ID = "two spans with different content have the same id: both are stored"
    LATE_PARENT = "arrived before its parent"
    NO_PARENT = "parent missing: its id is stored and read as a link"

    @property
    def label(self) -> str:
        """Return the code as printed: ``no-parent``."""
        return self.name.lower().replace("_", "-")


class OtlpProblem(Struct, frozen=True):
    """Input that is not a span, and why."""

    what: str


class OtlpLink(Struct, frozen=True):
    """A link to another span; ``trace`` is None if the trace is unknown."""

    trace: str | None
    span: str
    attributes: Mapping[str, OtlpValue] = field(default_factory=_empty_otlp_attributes)

    def __hash__(self) -> int:
        return hash_struct(self, but=("attributes",))


class OtlpSpan(Struct, frozen=True, kw_only=True):
    """A span with OpenTelemetry's names; ids in lower-case hex if they are OpenTelemetry's own, else unchanged.

    ``status`` is 0 for unset, 1 for ok, 2 for an error. A missing time is None; ``bad_times`` counts the invalid ones.
    """

    trace: str
    id: str
    name: str
    parent: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    status: int = 0
    message: str = ""
    attributes: Mapping[str, OtlpValue] = field(default_factory=_empty_otlp_attributes)
    dropped: int = 0
    links: tuple[OtlpLink, ...] = ()
    resource: Mapping[str, OtlpValue] = field(default_factory=_empty_otlp_attributes)
    bad_times: int = 0

    def __hash__(self) -> int:
        return hash_struct(self, but=("attributes", "resource"))


def normalize_otlp_id(text: str, size: int) -> str | None:
    """Return a hex or base64 id in lower-case hex, any other text unchanged, and None for an empty or zero id.

    >>> normalize_otlp_id("0x00F067AA0BA902B7", 8), normalize_otlp_id("APBnqgupArc=", 8)
    ('00f067aa0ba902b7', '00f067aa0ba902b7')
    >>> normalize_otlp_id("0000000000000000", 8), normalize_otlp_id("step-1", 8)
    (None, 'step-1')
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


def is_otlp_id(id: str, size: int) -> bool:
    """Return whether an id can be sent as OpenTelemetry's own and comes back unchanged."""
    return len(id) == 2 * size and normalize_otlp_id(id, size) == id


def hash_to_otlp_id(id: str, size: int) -> str:
    """Return a deterministic id of OpenTelemetry's size for an id of another shape; it cannot be reversed."""
    return hashlib.sha256(b"custody-span-id\0" + id.encode("utf-8", "surrogatepass")).hexdigest()[: 2 * size]


def check_otlp_time(value: int) -> int | None:
    """Return a time, None for OpenTelemetry's zero; raise ``ValueError`` for one that no store can hold."""
    if not 0 <= value <= NS_MAX:
        raise ValueError("not a time")
    return value or None


# Names and texts adjusted to fit a span event, so that every span can be stored. Only this file defines how.


NAME_CHARS_MAX = 200
KEY_CHARS_MAX = 100
TEXT_CHARS_MAX = 1000
NAMELESS = "unnamed"
_PREFIX_CHARS = 180
_DIGITS = 16

_CONTROL = lazy_pattern(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_UNSTORABLE = lazy_pattern(r"[\x00\ud800-\udfff]")


def fit_span_name(text: str, chars_max: int = NAME_CHARS_MAX) -> str:
    """Return ``text`` as a valid span name; a long one is cut and gets a digest, so that names stay different.

    >>> fit_span_name("read_file"), fit_span_name(" two\\nlines "), fit_span_name(""), len(fit_span_name("x" * 300))
    ('read_file', 'two lines', 'unnamed', 197)
    """
    if 0 < len(text) <= chars_max and not _CONTROL.search(text):
        return text
    plain = _CONTROL.sub(" ", text).strip()
    if not plain:
        return NAMELESS
    if len(plain) <= chars_max:
        return plain
    return f"{plain[:_PREFIX_CHARS]}…{hashlib.sha256(encode_json_text(text)).hexdigest()[:_DIGITS]}"


def fit_span_attribute_key(key: str) -> str | None:
    """Return the name of an attribute, or None if it is not valid."""
    return key if 0 < len(key) <= KEY_CHARS_MAX and not _CONTROL.search(key) else None


def clean_span_text(text: str) -> str:
    """Return a text without characters that no store can hold."""
    return _UNSTORABLE.sub("\ufffd", text)


def truncate_span_text(text: str) -> str:
    """Return a text cut to the length that a span may have.

    >>> truncate_span_text("short"), len(truncate_span_text("x" * 5000))
    ('short', 1000)
    """
    return text if len(text) <= TEXT_CHARS_MAX else f"{text[: TEXT_CHARS_MAX - 1]}…"
