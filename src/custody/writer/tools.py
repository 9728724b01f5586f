"""From what tools give back to results: every source of an answer has its id, every finding keeps it."""

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import fields as fields_of
from dataclasses import is_dataclass, replace
from functools import wraps
from typing import Any, ParamSpec, Protocol

from custody.cite.app.library import (
    ArtifactType,
    Contradiction,
    FindingCluster,
    HierarchicalFinding,
    ResearchResults,
    ResearchSource,
    SourceError,
    SourceID,
    SourceIdentity,
    SourceUsage,
    degraded,
    source_of_hit,
)
from custody.cite.app.writing_steps import assembled, is_hit, named_ids

# Call what somebody handed over, whether it waits or not; the only file of this package that knows the event loop.


async def call_maybe_async(call: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """What ``call`` gives in the end; what it raises comes through as it is."""
    if inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None)):  # noqa: B004 - asked of the method, not whether there is one
        return await call(*values, **named)
    made = await asyncio.to_thread(call, *values, **named)
    return await made if inspect.isawaitable(made) else made


NESTING_MAX = 6
"""Hits that stand deeper in a tool's answer are not looked for."""
URL_ARGUMENT = "url"
WRAPPED = "return_value"
"""The field of a dataclass that wraps what a tool returns, as agent frameworks have them: the wrapping stays."""

P = ParamSpec("P")


class SourceRepository(Protocol):
    """What is needed of a repository of sources: those of ``custody.sources`` have it."""

    async def register(self, source: ResearchSource) -> SourceIdentity:
        """Give a source its id, or the one that it has."""

    async def get(self, source_id: SourceID) -> ResearchSource | None:
        """What is known of a source."""

    async def register_usage(
        self, source_id: SourceID, artifact_type: ArtifactType, artifact_id: str, /
    ) -> SourceUsage:
        """Note that something rests on a source."""


def with_source_ids(tool: Callable[P, Any], repository: SourceRepository) -> Callable[P, Coroutine[Any, Any, Any]]:
    """The tool, waiting or not, with a ``source_id`` in its answer for every source of it; its arguments stay.

    A source is a ``ResearchSource``, or fields by name with a title or an address, wherever it stands in lists and
    fields; dataclasses, named tuples and pydantic models that hold one become fields. A text that was read from the
    argument ``url`` becomes ``source_id``, ``url`` and ``content``. Everything else comes back as it was. Sources are
    registered in the order of the answer, so that ids do not depend on chance; one that cannot be registered as it
    stands is degraded, and one that cannot be at all has the id None and says why.
    """

    @wraps(tool)
    async def tagged(*values: P.args, **named: P.kwargs) -> Any:
        answer = await call_maybe_async(tool, *values, **named)
        if isinstance(answer, str) and answer.strip() and (url := _url_of(tool, values, named)):
            return {**await _ids_of({"url": url}, repository), "url": url, "content": answer}
        return await _tagged(answer, repository, NESTING_MAX)

    return tagged


async def generate_structured_result(
    repository: SourceRepository,
    findings: Sequence[HierarchicalFinding],
    clusters: Sequence[FindingCluster] = (),
    contradictions: Sequence[Contradiction] = (),
    *,
    consulted: Iterable[SourceID] = (),
) -> ResearchResults:
    """The document's assembly: the sources that anything rests on, by number, and their usage, which is registered.

    ``consulted`` are ids of sources beyond those, which ``sources_consulted`` counts too. An id that nobody registered
    is an ``UnknownSource``.
    """
    consulted = tuple(consulted)
    known: dict[SourceID, ResearchSource] = {}
    for source_id in (*named_ids(findings, clusters, contradictions), *consulted):
        source = await repository.get(source_id)
        if source is not None:
            known[source_id] = source
    known |= {str(source.source_id): source for source in known.values()}
    results = assembled(findings, clusters, contradictions, known, consulted=consulted)
    for usage in results.source_usage.values():
        for kind, artifact in usage.uses():
            await repository.register_usage(usage.source_id, kind, artifact)
    return results


async def _tagged(value: Any, repository: SourceRepository, depth: int) -> Any:
    """The value with ids; the very same object where there is no source in it."""
    if isinstance(value, ResearchSource):
        identity = await repository.register(value)
        return replace(value, source_id=identity.source_id, canonical_key=identity.canonical_key)
    if is_hit(value):
        return {**value, **await _ids_of(value, repository)}
    if depth == 0:
        return value
    if fields := _fields_of(value):
        if WRAPPED in fields and is_dataclass(value):
            return replace(value, return_value=await _tagged(fields[WRAPPED], repository, depth - 1))  # type: ignore[type-var]
        made = await _tagged(fields, repository, depth - 1)
        return value if made is fields else made
    if isinstance(value, Mapping):
        parts = [await _tagged(part, repository, depth - 1) for part in value.values()]
        return value if _same(parts, value.values()) else dict(zip(value, parts, strict=True))
    if isinstance(value, list | tuple):
        parts = [await _tagged(part, repository, depth - 1) for part in value]
        kept = tuple(parts) if isinstance(value, tuple) else parts
        return value if _same(parts, value) else kept
    return value


def _same(made: Iterable[Any], given: Iterable[Any]) -> bool:
    return all(new is old for new, old in zip(made, given, strict=True))


def _fields_of(value: Any) -> Mapping[str, Any]:
    """The fields of an object by name: of a dataclass, a named tuple or a pydantic model; of anything else none."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in fields_of(value)}
    for name in ("model_dump", "_asdict"):
        if not isinstance(value, type | Mapping) and callable(dump := getattr(value, name, None)):
            made = dump()
            return made if isinstance(made, Mapping) else {}
    return {}


async def _ids_of(hit: Mapping[str, Any], repository: SourceRepository) -> dict[str, Any]:
    """The id of a hit as fields; without an id, why."""
    source = source_of_hit(hit)
    try:
        return {"source_id": (await repository.register(source)).source_id}
    except SourceError as error:
        if not source.title.strip():
            return {"source_id": None, "source_error": error.message}
        # Its address is none: what it is called can still be cited, and says that it could not be looked at.
        named = degraded(replace(source, url=None), error.message)
    return {"source_id": (await repository.register(named)).source_id}


def _url_of(tool: Callable[..., Any], values: Sequence[Any], named: Mapping[str, Any]) -> str | None:
    """The address that a call was about, if the tool has an argument of that name."""
    try:
        url = inspect.signature(tool).bind(*values, **named).arguments.get(URL_ARGUMENT)
    except (TypeError, ValueError):
        # A tool written in another language does not say what its arguments are.
        url = named.get(URL_ARGUMENT)
    return url if isinstance(url, str) and url.strip() else None
