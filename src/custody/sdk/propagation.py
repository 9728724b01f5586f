"""The running span across processes: W3C headers, ``TRACEPARENT``, MCP ``_meta``, the field of an RPC message.

What another program names as parent is followed when it is a W3C trace parent; whatever else it says becomes a link of
the spans that begin inside. Whether a parent was ever recorded, nobody knows before the records are read.
"""

import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from custody.sdk.spans import SpanIds, find_open_span, foreign, process, running

HEADER = "traceparent"
VARIABLE = "TRACEPARENT"
META = "_meta"
RPC = "parent_trace_id"
_FOREIGN_MAX = 200


def current_traceparent() -> str | None:
    """The running span as W3C writes it; None outside any."""
    pair = find_open_span(running.get())
    return None if pair is None else f"00-{pair[0]:032x}-{pair[1]:016x}-01"


def to_headers(headers: MutableMapping[str, str] | None = None) -> MutableMapping[str, str]:
    """The headers of a request, with the running span."""
    return _with(HEADER, {} if headers is None else headers)


def to_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a program to start (a copy of ours, or of the one given), with the running span."""
    return dict(_with(VARIABLE, dict(os.environ if environment is None else environment)))


def to_meta(params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The ``params`` of an MCP request, with the running span in their ``_meta``."""
    params = dict(params or {})
    meta = params.get(META)
    made = _with(HEADER, dict(meta) if isinstance(meta, Mapping) else {})
    return {**params, META: made} if made else params


def to_rpc(message: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A message, with the running span as its ``parent_trace_id``."""
    return dict(_with(RPC, dict(message or {})))


@contextmanager
def continued(carrier: Mapping[str, Any]) -> Iterator[None]:
    """Inside, spans belong to whoever sent ``carrier``: headers, an environment, MCP params or an RPC message."""
    said = read_parent(carrier)
    pair = pair_of(said)
    token = running.set(pair) if pair is not None else None
    links = foreign.set((said[:_FOREIGN_MAX],)) if said and pair is None else None
    try:
        yield
    finally:
        if token is not None:
            running.reset(token)
        if links is not None:
            foreign.reset(links)


def read_parent(carrier: Mapping[str, Any]) -> str:
    """What a carrier names as parent, in whichever of its forms; empty where it names none."""
    try:
        meta = carrier.get(META)
        places = (*carrier.items(), *(meta.items() if isinstance(meta, Mapping) else ()))
    except Exception:  # noqa: BLE001 - a carrier that cannot be read names no parent
        return ""
    said = {str(key).lower(): value for key, value in places if isinstance(value, str)}
    return next((said[name] for name in (HEADER, RPC) if said.get(name)), "")


def pair_of(said: str) -> SpanIds | None:
    """The span that a W3C trace parent names; None for anything else.

    >>> pair_of("00-0000000000000000000000000000000a-000000000000000b-01")
    (10, 11)
    """
    parts = said.strip().split("-")
    if len(parts) < 4 or [len(part) for part in parts[:4]] != [2, 32, 16, 2] or parts[0] == "ff":
        return None
    if not set("".join(parts[:4])) <= set("0123456789abcdef"):
        return None
    pair = int(parts[1], 16), int(parts[2], 16)
    return pair if all(pair) else None


def _with(name: str, carrier: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    said = current_traceparent()
    if said is not None:
        carrier[name] = said
    return carrier


process.root = pair_of(os.environ.get(VARIABLE, ""))
