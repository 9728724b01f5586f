"""The adapter for pydantic-ai (extra ``agents``): an agent as a writer, tools that register sources, instructions.

pydantic-ai is imported when it is needed; without it, ``MissingExtra`` names the extra.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from custody.cite.app.library import (
    CiteRules,
    MissingExtra,
    ResearchSource,
    citation_contract,
    executor_context,
)
from custody.writer.tools import SourceRepository, with_source_ids

if TYPE_CHECKING:
    from pydantic_ai import Agent, FunctionToolset


def agent_writer(agent: "Agent[Any, Any]", **run: Any) -> Callable[[str], Awaitable[Any]]:
    """Return a writer for ``ReportWriter``; each prompt is a separate run, with ``run`` as further arguments."""

    async def ask(prompt: str) -> Any:
        return (await agent.run(prompt, **run)).output

    return ask


def citation_instructions(repository: Any, rules: CiteRules | None = None) -> Callable[[], str]:
    """Return instructions for a writing agent: the contract with the sources registered when a run starts."""
    return lambda: citation_contract(repository.ordered_sources(), rules)


def executor_instructions(repository: Any) -> Callable[[], str]:
    """Return instructions for an agent that gathers: the sources so far, and to tag findings with source ids."""
    return lambda: executor_context(repository.ordered_sources())


def source_tools(repository: Any, *tools: Callable[..., Any]) -> "FunctionToolset[Any]":
    """Return a toolset to register and list sources, with your ``tools``, which return a ``source_id`` each."""
    try:
        from pydantic_ai import FunctionToolset
    except ImportError as error:
        raise MissingExtra("pydantic-ai", "agents") from error
    toolset: FunctionToolset[Any] = FunctionToolset(sequential=True)
    toolset.add_function(_build_register_source_tool(repository), name="register_source")
    toolset.add_function(_build_list_sources_tool(repository), name="list_sources")
    for tool in tools:
        toolset.add_function(with_source_ids(tool, repository))
    return toolset


def _build_register_source_tool(repository: SourceRepository) -> Callable[..., Awaitable[Any]]:
    async def register_source(
        title: str, url: str | None = None, author: str | None = None, publisher: str | None = None
    ) -> dict[str, Any]:
        """Register a source that was read. Returns the source_id to cite it and to tag findings with."""
        return {"title": title, "url": url, "author": author, "publisher": publisher}

    return with_source_ids(register_source, repository)


def _build_list_sources_tool(repository: Any) -> Callable[[], Awaitable[list[dict[str, Any]]]]:
    async def list_sources() -> list[dict[str, Any]]:
        """List all registered sources with their source_id."""
        return [_source_tool_row(source) async for source in repository.iter_sources()]

    return list_sources


def _source_tool_row(source: ResearchSource) -> dict[str, Any]:
    return {"source_id": source.source_id, "title": source.title, "url": source.url}
