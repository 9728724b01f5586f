"""Source ids in tool results, and the assembly of research results."""

import asyncio
import dataclasses
import inspect
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, Protocol

from msgspec.structs import replace

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
    assemble_research_results,
    collect_source_ids,
    degraded,
    is_source_hit,
    source_of_hit,
)

# Call synchronous and asynchronous callables; only this file of the package uses the event loop.


async def await_writer_call(call: Callable[..., Any], *values: Any, **named: Any) -> Any:
    """Return the result of ``call``, awaited if needed; exceptions propagate."""
    if inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None)):  # noqa: B004 - checks the method itself
        return await call(*values, **named)
    result = await asyncio.to_thread(call, *values, **named)
    return await result if inspect.isawaitable(result) else result


NESTING_MAX = 6
"""Maximum depth of hits in a tool's answer."""
URL_ARGUMENT = "url"
WRAPPED = "return_value"
"""The field that holds a tool's result where an agent framework wraps it in a dataclass; the wrapper is returned."""

P = ParamSpec("P")


class SourceRepository(Protocol):
    """The methods that these tools call on a source repository, such as one of ``custody.sources``."""

    async def register(self, source: ResearchSource) -> SourceIdentity:
        """Register a source and return its id, new or known."""

    async def get(self, source_id: SourceID) -> ResearchSource | None:
        """Return a source."""

    async def register_usage(
        self, source_id: SourceID, artifact_type: ArtifactType, artifact_id: str, /
    ) -> SourceUsage:
        """Record that an artifact uses a source."""


def with_source_ids(tool: Callable[P, Any], repository: SourceRepository) -> Callable[P, Coroutine[Any, Any, Any]]:
    """Return the tool, synchronous or not, with a ``source_id`` for every source in its answer.

    A source is a ``ResearchSource`` or a mapping with a title or a URL, anywhere in lists and fields. Dataclasses,
    named tuples and pydantic models that contain a source become mappings. Text read from the argument ``url`` becomes
    ``source_id``, ``url`` and ``content``. Everything else is returned unchanged. Sources are registered in the order
    of the answer, so ids are deterministic. A source that cannot be registered is degraded; if that fails too, its id
    is None and the answer says why.
    """

    @wraps(tool)
    async def tagged(*values: P.args, **named: P.kwargs) -> Any:
        answer = await await_writer_call(tool, *values, **named)
        if isinstance(answer, str) and answer.strip() and (url := _writer_tool_url(tool, values, named)):
            return {**await _register_tool_hit({"url": url}, repository), "url": url, "content": answer}
        return await _tag_tool_answer(answer, repository, NESTING_MAX)

    return tagged


async def generate_structured_result(
    repository: SourceRepository,
    findings: Sequence[HierarchicalFinding],
    clusters: Sequence[FindingCluster] = (),
    contradictions: Sequence[Contradiction] = (),
    *,
    consulted: Iterable[SourceID] = (),
) -> ResearchResults:
    """Assemble results as in document 003: the used sources by number, and their usage, which is registered.

    ``consulted`` are further source ids, which ``sources_consulted`` counts too. An id that is not registered raises
    ``UnknownSource``.
    """
    consulted = tuple(consulted)
    known: dict[SourceID, ResearchSource] = {}
    for source_id in (*collect_source_ids(findings, clusters, contradictions), *consulted):
        source = await repository.get(source_id)
        if source is not None:
            known[source_id] = source
    known |= {str(source.source_id): source for source in known.values()}
    results = assemble_research_results(findings, clusters, contradictions, known, consulted=consulted)
    for usage in results.source_usage.values():
        for kind, artifact in usage.uses():
            await repository.register_usage(usage.source_id, kind, artifact)
    return results


async def _tag_tool_answer(value: Any, repository: SourceRepository, depth: int) -> Any:
    """Return the value with ids; the same object if it contains no source."""
    if isinstance(value, ResearchSource):
        identity = await repository.register(value)
        return replace(value, source_id=identity.source_id, canonical_key=identity.canonical_key)
    if is_source_hit(value):
        return {**value, **await _register_tool_hit(value, repository)}
    if depth == 0:
        return value
    if fields := _tool_answer_fields(value):
        if WRAPPED in fields and dataclasses.is_dataclass(value) and not isinstance(value, type):
            tagged = await _tag_tool_answer(fields[WRAPPED], repository, depth - 1)
            return dataclasses.replace(value, return_value=tagged)
        tagged = await _tag_tool_answer(fields, repository, depth - 1)
        return value if tagged is fields else tagged
    if isinstance(value, Mapping):
        parts = [await _tag_tool_answer(part, repository, depth - 1) for part in value.values()]
        return value if _is_tool_answer_unchanged(parts, value.values()) else dict(zip(value, parts, strict=True))
    if isinstance(value, list | tuple):
        parts = [await _tag_tool_answer(part, repository, depth - 1) for part in value]
        tagged = tuple(parts) if isinstance(value, tuple) else parts
        return value if _is_tool_answer_unchanged(parts, value) else tagged
    return value


def _is_tool_answer_unchanged(tagged: Iterable[Any], original: Iterable[Any]) -> bool:
    return all(new is old for new, old in zip(tagged, original, strict=True))


def _tool_answer_fields(value: Any) -> Mapping[str, Any]:
    """Return the fields of a dataclass, a named tuple or a pydantic model by name; none for anything else."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    for name in ("model_dump", "_asdict"):
        if not isinstance(value, type | Mapping) and callable(dump := getattr(value, name, None)):
            fields = dump()
            return fields if isinstance(fields, Mapping) else {}
    return {}


async def _register_tool_hit(hit: Mapping[str, Any], repository: SourceRepository) -> dict[str, Any]:
    """Register a hit; return its id, or why it has none, as fields."""
    source = source_of_hit(hit)
    try:
        return {"source_id": (await repository.register(source)).source_id}
    except SourceError as error:
        if not source.title.strip():
            return {"source_id": None, "source_error": error.message}
        # The URL is invalid, but the title can still be cited, as degraded.
        without_url = degraded(replace(source, url=None), error.message)
    return {"source_id": (await repository.register(without_url)).source_id}


def _writer_tool_url(tool: Callable[..., Any], values: Sequence[Any], named: Mapping[str, Any]) -> str | None:
    """Return the argument ``url`` of a call, if the tool has one."""
    try:
        url = inspect.signature(tool).bind(*values, **named).arguments.get(URL_ARGUMENT)
    except (TypeError, ValueError):
        # A tool written in another language has no signature.
        url = named.get(URL_ARGUMENT)
    return url if isinstance(url, str) and url.strip() else None
