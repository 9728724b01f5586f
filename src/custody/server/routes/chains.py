"""Chains of other stores: gone on with where they end, told of, read in stretches."""

import re
from functools import partial

from custody.core.errors import InputError
from custody.core.ids import StoreId
from custody.core.wire.body import digest_from
from custody.server.app.tenancy import TokenScope
from custody.server.endpoints import Endpoint, EndpointCall, HttpAnswer, Parameter
from custody.server.problems import HttpProblem
from custody.server.wire.service import Problem
from custody.share.chain_exchange import Conflict, chain_stretch, held_chains, origins_held, origins_of, take_stretch
from custody.share.wire import (
    NDJSON,
    STRETCH_RECORDS_MAX,
    ChainReceipt,
    ChainStates,
    OriginDigests,
    encode_origins_held,
)
from custody.workspace.workspace import Workspace

_STORE = re.compile(r"[0-9a-f]{32}")
_LINES = {"type": "string", "description": "JSON lines: what is sent, then lines as 'custody export' writes them"}
_WHOLE = {"type": "integer", "minimum": 0, "maximum": 2**63 - 1}


async def list_chains(call: EndpointCall) -> HttpAnswer:
    """All chains."""
    return HttpAnswer.of(await call.ask(held_chains))


async def send(call: EndpointCall) -> HttpAnswer:
    """Go on with a chain."""
    data = await call.body()
    try:
        kept = await call.ask(lambda workspace: take_stretch(workspace, data))
    except Conflict as error:
        raise HttpProblem(409, error.message, remedy=error.hint) from error
    return HttpAnswer.of(kept, 201 if kept.new else 200)


async def read_chain(call: EndpointCall) -> HttpAnswer:
    """The next records of a chain."""
    store, after, limit = _store(call), _number(call, "after", 0), _number(call, "limit", STRETCH_RECORDS_MAX)
    texts = call.flag("texts", default=False)
    if texts and not call.may(TokenScope.TEXT):
        raise HttpProblem(403, "this needs a token with the scope 'text'", remedy="ask without texts")

    def ask(workspace: Workspace) -> bytes:
        if texts:
            call.note_read(f"chain {store} behind record {after}")
        return chain_stretch(workspace, store, after=after, limit=min(limit, STRETCH_RECORDS_MAX), texts=texts)

    return HttpAnswer(body=await call.ask(ask), media=NDJSON)


async def origins(call: EndpointCall) -> HttpAnswer:
    """Which files a chain's origins tell of, or what it tells of one."""
    store, named = _store(call), call.text("digest")
    if named is None:
        return HttpAnswer(body=encode_origins_held(await call.ask(lambda workspace: origins_held(workspace, store))))
    found = await call.ask(partial(origins_of, chain=store, digest=digest_from(named)))
    if found is None:
        raise HttpProblem(404, "nothing is told of this file", remedy="ask without 'digest' for those that there are")
    return HttpAnswer(body=found)


def _store(call: EndpointCall) -> StoreId:
    name = str(call.request.path_params["store"])
    if not _STORE.fullmatch(name):
        raise InputError("a store's id has 32 lower-case hex digits")
    return StoreId(name)


def _number(call: EndpointCall, name: str, usual: int) -> int:
    given = call.text(name)
    if given is None:
        return usual
    if not (given.isdecimal() and given.isascii() and len(given) <= 18):
        raise InputError(f"'{name}' is a whole number")
    return int(given)


_PLACE = {"store": "The store's id, 32 hex digits."}

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint(
        method="GET",
        path="/api/v1/chains",
        name="list-chains",
        words="List the chains that are kept, each with its end.",
        scope=TokenScope.READ,
        handle=list_chains,
        gives={200: ChainStates},
    ),
    Endpoint(
        method="POST",
        path="/api/v1/chains",
        name="send-chain",
        words="Go on with a store's chain where it ends here: checked, then kept whole; a fork or a gap is a conflict.",
        scope=TokenScope.WRITE,
        handle=send,
        takes={NDJSON: _LINES},
        gives={200: ChainReceipt, 201: ChainReceipt, 409: Problem},
    ),
    Endpoint(
        method="GET",
        path="/api/v1/chains/{store}",
        name="read-chain",
        words="The next records of a chain as JSON lines; without texts unless they are asked for, which is noted.",
        scope=TokenScope.READ,
        handle=read_chain,
        gives={200: NDJSON},
        parameters=(
            Parameter("after", "The last record that is known already.", _WHOLE),
            Parameter("limit", "How many records at most.", {**_WHOLE, "maximum": STRETCH_RECORDS_MAX}),
            Parameter("texts", "Whether texts are wanted; needs the scope 'text'.", {"type": "boolean"}),
        ),
        places=_PLACE,
    ),
    Endpoint(
        method="GET",
        path="/api/v1/chains/{store}/origins",
        name="read-origins",
        words="The files of which a chain tells where their lines come from; with a digest, what it tells.",
        scope=TokenScope.READ,
        handle=origins,
        gives={200: OriginDigests, 404: Problem},
        parameters=(Parameter("digest", "Which of them is wanted, by its digest."),),
        places=_PLACE,
    ),
)
