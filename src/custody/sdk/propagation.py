"""The running span across processes: W3C headers, ``TRACEPARENT``, MCP ``_meta``, the field of an RPC message.

A parent that another program names is followed if it is a W3C trace parent; any other value becomes a link of the spans
that start inside. Whether a parent was recorded is unknown until the records are read.
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
    """Return the running span as W3C writes it; None outside any span."""
    pair = find_open_span(running.get())
    return None if pair is None else f"00-{pair[0]:032x}-{pair[1]:016x}-01"


def to_headers(headers: MutableMapping[str, str] | None = None) -> MutableMapping[str, str]:
    """Return the headers of a request, with the running span."""
    return _add_traceparent(HEADER, {} if headers is None else headers)


def to_environment(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return an environment for a new process (a copy of ours, or of ``environment``), with the running span."""
    return dict(_add_traceparent(VARIABLE, dict(os.environ if environment is None else environment)))


def to_meta(params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the ``params`` of an MCP request, with the running span in their ``_meta``."""
    params = dict(params or {})
    meta = params.get(META)
    meta = _add_traceparent(HEADER, dict(meta) if isinstance(meta, Mapping) else {})
    return {**params, META: meta} if meta else params


def to_rpc(message: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a message with the running span as its ``parent_trace_id``."""
    return dict(_add_traceparent(RPC, dict(message or {})))


@contextmanager
def continued(carrier: Mapping[str, Any]) -> Iterator[None]:
    """Run the block inside the span that ``carrier`` names: headers, an environment, MCP params or an RPC message."""
    parent = read_carrier_parent(carrier)
    pair = parse_traceparent(parent)
    token = running.set(pair) if pair is not None else None
    links = foreign.set((parent[:_FOREIGN_MAX],)) if parent and pair is None else None
    try:
        yield
    finally:
        if token is not None:
            running.reset(token)
        if links is not None:
            foreign.reset(links)


def read_carrier_parent(carrier: Mapping[str, Any]) -> str:
    """Return the parent that a carrier names, in any of its forms; empty if it names none."""
    try:
        meta = carrier.get(META)
        places = (*carrier.items(), *(meta.items() if isinstance(meta, Mapping) else ()))
    except Exception:  # noqa: BLE001 - a carrier that cannot be read names no parent
        return ""
    texts = {str(key).lower(): value for key, value in places if isinstance(value, str)}
    return next((texts[name] for name in (HEADER, RPC) if texts.get(name)), "")


def parse_traceparent(text: str) -> SpanIds | None:
    """Return the span that a W3C trace parent names; None for anything else.

    >>> parse_traceparent("00-0000000000000000000000000000000a-000000000000000b-01")
    (10, 11)
    """
    parts = text.strip().split("-")
    if len(parts) < 4 or [len(part) for part in parts[:4]] != [2, 32, 16, 2] or parts[0] == "ff":
        return None
    if not set("".join(parts[:4])) <= set("0123456789abcdef"):
        return None
    pair = int(parts[1], 16), int(parts[2], 16)
    return pair if all(pair) else None


def _add_traceparent(name: str, carrier: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    traceparent = current_traceparent()
    if traceparent is not None:
        carrier[name] = traceparent
    return carrier


process.root = parse_traceparent(os.environ.get(VARIABLE, ""))
