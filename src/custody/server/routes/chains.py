"""Chains of stores: list, extend and read them in batches."""

from functools import partial

from custody.core.errors import InputError
from custody.core.ids import StoreId
from custody.core.patterns import lazy_pattern
from custody.core.wire.body import parse_digest
from custody.core.wire.prompt_excerpts import PromptExcerpts
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import JSON, Endpoint, EndpointCall, HttpAnswer, Parameter
from custody.server.problems import HttpProblem
from custody.server.wire.service import Problem
from custody.share.chain_exchange import (
    Conflict,
    list_chain_states,
    list_shared_origins,
    read_chain_batch,
    read_shared_origins,
    receive_chain_batch,
)
from custody.share.service_heads import (
    list_witness_entries,
    read_chain_excerpts,
    read_chain_heads,
    receive_chain_excerpts,
    receive_chain_head,
    receive_witness_entries,
)
from custody.share.wire import (
    BATCH_RECORDS_MAX,
    NDJSON,
    ChainReceipt,
    ChainStates,
    OriginDigests,
    SharedHead,
    SharedHeads,
    WitnessEntries,
    WitnessReceipt,
    encode_origin_digests,
)
from custody.workspace.workspace import Workspace

_STORE = lazy_pattern(r"[0-9a-f]{32}")
_LINES = {"type": "string", "description": "JSON lines: a header, then lines as in 'custody export'"}
_WHOLE = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}


async def list_chains(call: EndpointCall) -> HttpAnswer:
    """List all chains."""
    return HttpAnswer.of(await call.ask(list_chain_states))


async def receive_chain(call: EndpointCall) -> HttpAnswer:
    """Extend a chain."""
    data = await call.body()
    try:
        receipt = await call.ask(lambda workspace: receive_chain_batch(workspace, data))
    except Conflict as error:
        raise HttpProblem(409, error.message, remedy=error.hint) from error
    return HttpAnswer.of(receipt, 201 if receipt.new else 200)


async def read_chain(call: EndpointCall) -> HttpAnswer:
    """Return the next records of a chain."""
    store, after, limit = (
        _read_store_param(call),
        _read_whole_number_param(call, "after", 0),
        _read_whole_number_param(call, "limit", BATCH_RECORDS_MAX),
    )
    texts = call.flag("texts", default=False)
    if texts and not call.may(TokenScope.TEXT):
        raise HttpProblem(403, "this needs a token with the scope 'text'", remedy="leave out 'texts'")

    def ask(workspace: Workspace) -> bytes:
        if texts:
            call.note_read(f"chain {store} after record {after}")
        return read_chain_batch(workspace, store, after=after, limit=min(limit, BATCH_RECORDS_MAX), texts=texts)

    return HttpAnswer(body=await call.ask(ask), media=NDJSON)


async def read_origins(call: EndpointCall) -> HttpAnswer:
    """List the files with origins in a chain, or return the origins of one file."""
    store, digest = _read_store_param(call), call.text("digest")
    if digest is None:
        return HttpAnswer(
            body=encode_origin_digests(await call.ask(lambda workspace: list_shared_origins(workspace, store)))
        )
    origins = await call.ask(partial(read_shared_origins, chain=store, digest=parse_digest(digest)))
    if origins is None:
        raise HttpProblem(404, "no origins of this file", remedy="leave out 'digest' to list the files")
    return HttpAnswer(body=origins)


async def read_heads(call: EndpointCall) -> HttpAnswer:
    """Return the signed heads of a chain."""
    store, after = _read_store_param(call), _read_whole_number_param(call, "after", 0)
    until, seen = (
        None if call.text(name) is None else _read_whole_number_param(call, name, 0) for name in ("until", "from")
    )
    return HttpAnswer.of(await call.ask(partial(read_chain_heads, chain=store, after=after, until=until, seen=seen)))


async def receive_head(call: EndpointCall) -> HttpAnswer:
    """Store the signed head of a chain."""
    store, data = _read_store_param(call), await call.body()
    try:
        return HttpAnswer.of(await call.ask(partial(receive_chain_head, chain=store, data=data)))
    except Conflict as error:
        raise HttpProblem(409, error.message, remedy=error.hint) from error


async def read_prompts(call: EndpointCall) -> HttpAnswer:
    """Return the excerpts of prompts that the owner of a chain publishes."""
    return HttpAnswer(body=await call.ask(partial(read_chain_excerpts, chain=_read_store_param(call))))


async def receive_prompts(call: EndpointCall) -> HttpAnswer:
    """Replace the excerpts of prompts of a chain."""
    store, data = _read_store_param(call), await call.body()
    try:
        await call.ask(partial(receive_chain_excerpts, chain=store, data=data))
    except Conflict as error:
        raise HttpProblem(409, error.message, remedy=error.hint) from error
    return HttpAnswer(body=await call.ask(partial(read_chain_excerpts, chain=store)))


async def list_witness(call: EndpointCall) -> HttpAnswer:
    """List the countersignatures of heads."""
    return HttpAnswer.of(await call.ask(list_witness_entries))


async def receive_witness(call: EndpointCall) -> HttpAnswer:
    """Store countersignatures of heads."""
    data = await call.body()
    return HttpAnswer.of(await call.ask(partial(receive_witness_entries, data=data)))


def _read_store_param(call: EndpointCall) -> StoreId:
    name = str(call.request.path_params["store"])
    if not _STORE.fullmatch(name):
        raise InputError("a store id must have 32 lowercase hex digits")
    return StoreId(name)


def _read_whole_number_param(call: EndpointCall, name: str, default: int) -> int:
    text = call.text(name)
    if text is None:
        return default
    if not (text.isdecimal() and text.isascii() and len(text) <= 18):
        raise InputError(f"'{name}' must be a whole number")
    return int(text)


_PLACE = {"store": "The store id, 32 hex digits."}

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/api/v1/chains",
        name="list-chains",
        summary="List the stored chains with their heads.",
        scope=TokenScope.READ,
        handle=list_chains,
        gives={200: ChainStates},
    ),
    Endpoint(
        method="POST",
        path="/api/v1/chains",
        name="send-chain",
        summary="Extend the chain of a store. The records are verified first; a fork or a gap is a conflict.",
        scope=TokenScope.WRITE,
        handle=receive_chain,
        takes={NDJSON: _LINES},
        gives={200: ChainReceipt, 201: ChainReceipt, 409: Problem},
    ),
    Endpoint(
        method="GET",
        path="/api/v1/chains/{store}",
        name="read-chain",
        summary="Return the next records of a chain as JSON lines; texts on request, and every such read is logged.",
        scope=TokenScope.READ,
        handle=read_chain,
        gives={200: NDJSON},
        parameters=(
            Parameter("after", "The last record that the caller has.", _WHOLE),
            Parameter("limit", "Maximum number of records.", {**_WHOLE, "maximum": BATCH_RECORDS_MAX}),
            Parameter("texts", "Whether to include texts; needs the scope 'text'.", {"type": "boolean"}),
        ),
        places=_PLACE,
    ),
    Endpoint(
        method="GET",
        path="/api/v1/chains/{store}/origins",
        name="read-origins",
        summary="List the files of a chain with known line origins; with a digest, return the origins of that file.",
        scope=TokenScope.READ,
        handle=read_origins,
        gives={200: OriginDigests, 404: Problem},
        parameters=(Parameter("digest", "The digest of the file."),),
        places=_PLACE,
    ),
    Endpoint(
        method="GET",
        path="/api/v1/chains/{store}/head",
        name="read-head",
        summary="Return the signed heads of a chain, by each key that signed it.",
        scope=TokenScope.READ,
        handle=read_heads,
        gives={200: SharedHeads},
        parameters=(
            Parameter("after", "The last record whose outline digest the caller has.", _WHOLE),
            Parameter("until", "The last record that the caller knows of; by default the last one.", _WHOLE),
            Parameter("from", "An earlier head that the caller saw: prove that each head extends it.", _WHOLE),
        ),
        places=_PLACE,
    ),
    Endpoint(
        method="POST",
        path="/api/v1/chains/{store}/head",
        name="send-head",
        summary="Store the signed head of a chain. It must fit the stored records; the service countersigns it.",
        scope=TokenScope.WRITE,
        handle=receive_head,
        takes={JSON: SharedHead},
        gives={200: SharedHeads, 409: Problem},
        places=_PLACE,
    ),
    Endpoint(
        method="GET",
        path="/api/v1/chains/{store}/prompts",
        name="read-prompts",
        summary="Return the excerpts of prompts that the owner of a chain publishes; an empty answer without any.",
        scope=TokenScope.READ,
        handle=read_prompts,
        gives={200: PromptExcerpts},
        places=_PLACE,
    ),
    Endpoint(
        method="POST",
        path="/api/v1/chains/{store}/prompts",
        name="send-prompts",
        summary="Replace the excerpts of prompts that the owner of a chain publishes; an empty body removes them.",
        scope=TokenScope.WRITE,
        handle=receive_prompts,
        takes={JSON: PromptExcerpts},
        gives={200: PromptExcerpts, 409: Problem},
        places=_PLACE,
    ),
    Endpoint(
        method="GET",
        path="/api/v1/witness",
        name="list-witness",
        summary="List the countersignatures of heads: who saw which head of a chain, and when.",
        scope=TokenScope.READ,
        handle=list_witness,
        gives={200: WitnessEntries},
    ),
    Endpoint(
        method="POST",
        path="/api/v1/witness",
        name="send-witness",
        summary="Store countersignatures of heads; each signature is verified first.",
        scope=TokenScope.WRITE,
        handle=receive_witness,
        takes={JSON: WitnessEntries},
        gives={200: WitnessReceipt},
    ),
)
