"""Signed statements about the head of a chain: by its owner, and by those who saw it.

A statement is canonical JSON in an SSH signature of its own namespace. Its owner states how far the chain reaches and
what its outlines and origins of lines are; a witness states which head it saw, and when.
"""

from base64 import b64encode
from hashlib import sha256
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from custody.core.errors import InputError
from custody.core.ids import Digest, Link, Seq, StoreId, digest_from_bytes
from custody.core.record import ChainTip
from custody.core.tree_head import TreeHash
from custody.core.wire.body import format_digest
from custody.core.wire.canonical import describe_conversion_error, dump_canonical_json, parse_json_bytes

HEAD_NAMESPACE = "custody-head"
"""The namespace of an owner's signature of a head."""
WITNESS_NAMESPACE = "custody-witness"
"""The namespace of a countersignature."""
STATEMENT_BYTES_MAX = 8192
ROOT_COMMITS_MAX = 64
NOT_WRITTEN_BY_CUSTODY = "custody did not write this"

StatementStore = Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$(?!\n)")]
StatementHash = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]
StatementDigest = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$(?!\n)")]
RootCommit = Annotated[str, Meta(pattern=r"^([0-9a-f]{40}|[0-9a-f]{64})$(?!\n)")]
RootCommits = Annotated[tuple[RootCommit, ...], Meta(max_length=ROOT_COMMITS_MAX)]
StatementSeq = Annotated[int, Meta(ge=1, le=2**63 - 1)]
StatementTime = Annotated[int, Meta(ge=0, le=2**63 - 1)]
StatementKey = Annotated[
    str,
    Meta(
        max_length=2000,
        pattern=r"^(sk-)?(ssh-(ed25519|rsa)|ecdsa-sha2-nistp(256|384|521))(@openssh\.com)? [A-Za-z0-9+/]+={0,3}$(?!\n)",
    ),
]
SignatureText = Annotated[
    str,
    Meta(
        max_length=4096,
        pattern=r"^-----BEGIN SSH SIGNATURE-----\n[A-Za-z0-9+/=\n]+-----END SSH SIGNATURE-----\n?$(?!\n)",
    ),
]
SignedText = Annotated[str, Meta(min_length=2, max_length=STATEMENT_BYTES_MAX)]


class ChainHeadStatement(Struct, frozen=True, forbid_unknown_fields=True):
    """What the owner of a chain states about its head.

    ``repository`` are the root commits of the repository, ``root`` is the root of the tree over the chain's records,
    ``origins`` the digest of the shared origins of lines, and ``at`` nanoseconds since 1970 by the owner's clock.
    ``prompts`` is the digest of the shared excerpts of prompts; without any it is not part of the statement.
    """

    custody: Literal[1]
    type: Literal["chain-head"]
    repository: RootCommits
    store: StatementStore
    seq: StatementSeq
    link: StatementHash
    root: StatementHash
    origins: StatementDigest
    at: StatementTime
    prompts: StatementDigest | None = None

    @property
    def head(self) -> ChainTip:
        """Return the tip of the chain."""
        return ChainTip(StoreId(self.store), Seq(self.seq), Link(bytes.fromhex(self.link)))

    @property
    def tree_root(self) -> TreeHash:
        """Return the root of the tree over the chain's records."""
        return TreeHash(bytes.fromhex(self.root))


class HeadSighting(Struct, frozen=True, forbid_unknown_fields=True):
    """What a witness states about a head that it saw and that extends every head it saw before.

    ``statement`` is the digest of the owner's statement and ``root`` the root of its tree; None for an unsigned head.
    """

    custody: Literal[1]
    type: Literal["head-seen"]
    repository: RootCommits
    store: StatementStore
    seq: StatementSeq
    link: StatementHash
    root: StatementHash | None
    statement: StatementDigest | None
    at: StatementTime

    @property
    def head(self) -> ChainTip:
        """Return the tip of the chain."""
        return ChainTip(StoreId(self.store), Seq(self.seq), Link(bytes.fromhex(self.link)))


class StatementEnvelope(Struct, frozen=True, forbid_unknown_fields=True):
    """A statement with its signature and the public key that made it."""

    statement: SignedText
    key: StatementKey
    signature: SignatureText

    @property
    def data(self) -> bytes:
        """Return the signed bytes."""
        return self.statement.encode("utf-8", "surrogatepass")

    @property
    def digest(self) -> Digest:
        """Return the digest of the signed bytes."""
        return digest_from_bytes(self.data)


class WitnessEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A countersignature, with the owner's statement that was seen; ``head`` is None for a chain without one."""

    custody: Literal[1]
    seen: StatementEnvelope
    head: StatementEnvelope | None


Statement = TypeVar("Statement", ChainHeadStatement, HeadSighting)
StatementShape = TypeVar("StatementShape", bound=Struct)


def encode_statement(statement: ChainHeadStatement | HeadSighting) -> bytes:
    """Return the canonical bytes, which are signed."""
    fields = msgspec.to_builtins(statement)
    if fields.get("prompts", "") is None:
        del fields["prompts"]
    return dump_canonical_json(fields)


def decode_statement(data: bytes, kind: type[Statement]) -> Statement:
    """Decode a statement of exactly this kind; raise ``InputError`` for any other, or if it is not canonical."""
    statement = decode_statement_file(data, kind, bytes_max=STATEMENT_BYTES_MAX)
    if encode_statement(statement) != data:
        raise InputError("a statement about a head is not in canonical form", hint=NOT_WRITTEN_BY_CUSTODY)
    return statement


def decode_statement_file(data: bytes, kind: type[StatementShape], *, bytes_max: int) -> StatementShape:
    """Decode JSON of exactly this shape; raise ``InputError`` for any other."""
    value = parse_json_bytes(data, bytes_max=bytes_max)
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(
            f"cannot read a statement about a head: {describe_conversion_error(error)}", hint=NOT_WRITTEN_BY_CUSTODY
        ) from error


def format_key_fingerprint(key: str) -> str:
    """Return the fingerprint of a public key as OpenSSH prints it, or of its text if the key is malformed.

    >>> format_key_fingerprint("ssh-ed25519 AAAA")
    'SHA256:cJ6AyISHokEeHuTfufIqhhSS0gxHZRUMDHlKvXD4FHw'
    """
    from binascii import Error, a2b_base64

    try:
        data = a2b_base64(key.partition(" ")[2], strict_mode=True)
    except Error:
        data = key.encode("utf-8", "replace")
    return "SHA256:" + b64encode(sha256(data).digest()).decode().rstrip("=")


def make_head_statement(
    head: ChainTip,
    root: TreeHash,
    origins: Digest,
    repository: tuple[str, ...],
    at_ns: int,
    prompts: Digest | None = None,
) -> ChainHeadStatement:
    """Return an owner's statement about a head."""
    return ChainHeadStatement(
        1,
        "chain-head",
        repository,
        head.store,
        int(head.seq),
        head.link.hex(),
        root.hex(),
        format_digest(origins),
        at_ns,
        None if prompts is None else format_digest(prompts),
    )
