"""Signatures of decisions by their reviewers; may start ``ssh-keygen`` through the signing adapter."""

from collections.abc import Mapping
from pathlib import Path

from custody.core.errors import InputError
from custody.core.wire.canonical import Json, dump_canonical_json
from custody.signing import sign_message

NAMESPACE = "custody-decision"
"""The namespace of signatures of decisions: no other signature by the same key is valid for one."""
WITNESS = "witness"


def encode_signed_decision(event: Mapping[str, Json]) -> bytes:
    """Return the message of a reviewer's signature: the canonical JSON of the event without its witness."""
    return dump_canonical_json({name: value for name, value in event.items() if name != WITNESS})


def sign_decision_event(event: Mapping[str, Json], key: Path) -> dict[str, Json]:
    """Return the event with a signature by its actor."""
    actor = event.get("actor")
    if actor is None:
        raise InputError("a signed decision needs an actor", hint="pass --actor")
    signature = sign_message(encode_signed_decision(event), key, NAMESPACE)
    return {**event, WITNESS: {"kind": "signature", "by": actor, "signature": signature}}
