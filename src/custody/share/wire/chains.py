"""Chains between a store and a service: what a service says of those that it keeps."""

from typing import Annotated, TypeVar

import msgspec
from msgspec import Meta

from custody.core.errors import InputError
from custody.core.record import ChainTip
from custody.core.wire.canonical import dump, parse, problem
from custody.share.wire.export import Hex, StoreText, chain_tip

NDJSON = "application/x-ndjson"
STRETCH_RECORDS_MAX = 1000
"""Records that one answer brings at most."""
STRETCH_BYTES_MAX = 8 * 1024 * 1024
"""Bytes after which no further record is sent in the same request."""

T = TypeVar("T")


class ChainState(msgspec.Struct, frozen=True):
    """A chain that a service keeps: how far it reaches there; ``origins`` names what it tells of lines, if anything."""

    store: StoreText
    seq: Annotated[int, Meta(ge=0, le=2**63 - 1)]
    link: Hex
    own: bool = False
    """The service appends to it itself: it can be read there, and nobody else writes it."""
    origins: str | None = None

    @property
    def head(self) -> ChainTip:
        """How far the chain reaches."""
        return chain_tip(self.store, self.seq, self.link)


class ChainStates(msgspec.Struct, frozen=True):
    """All chains of a project."""

    chains: list[ChainState]


class ChainReceipt(msgspec.Struct, frozen=True):
    """What became of a stretch: how far the chain reaches now, and how many records were new."""

    store: StoreText
    seq: int
    link: Hex
    new: int


class OriginDigests(msgspec.Struct, frozen=True):
    """The files of which a chain's origins tell, each with the digest of what is told."""

    files: dict[str, str]


def encode_origins_held(held: OriginDigests) -> bytes:
    """The canonical bytes: names of files may hold what other encoders refuse."""
    return dump({"files": dict(held.files)})


def decode_answer(data: bytes, kind: type[T]) -> T:
    """Read what a service answers about its chains."""
    try:
        return msgspec.convert(parse(data), kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(f"the service's answer cannot be read: {problem(error)}", hint="upgrade custody") from error
