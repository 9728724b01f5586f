"""The adapter for pydantic-ai, the extra ``agents``: an agent as a writer, tools that register sources, instructions.

pydantic-ai is imported when one of these is called and needs it; without it, ``MissingExtra`` names the extra.
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
    """A writer for ``ReportWriter``: each prompt is a run of its own, with ``run`` as that run's other arguments."""

    async def ask(prompt: str) -> Any:
        return (await agent.run(prompt, **run)).output

    return ask


def citation_instructions(repository: Any, rules: CiteRules | None = None) -> Callable[[], str]:
    """Instructions for a writing agent: the contract with the sources that are registered when a run begins."""
    return lambda: citation_contract(repository.ordered_sources(), rules)


def executor_instructions(repository: Any) -> Callable[[], str]:
    """Instructions for an agent that gathers: the sources so far, and that findings carry the ids of theirs."""
    return lambda: executor_context(repository.ordered_sources())


def source_tools(repository: Any, *tools: Callable[..., Any]) -> "FunctionToolset[Any]":
    """A toolset that registers sources and lists them, with your own ``tools``, each answering with ``source_id``."""
    try:
        from pydantic_ai import FunctionToolset
    except ImportError as error:
        raise MissingExtra("pydantic-ai", "agents") from error
    made: FunctionToolset[Any] = FunctionToolset(sequential=True)
    made.add_function(_registering(repository), name="register_source")
    made.add_function(_listing(repository), name="list_sources")
    for tool in tools:
        made.add_function(with_source_ids(tool, repository))
    return made


def _registering(repository: SourceRepository) -> Callable[..., Awaitable[Any]]:
    async def register_source(
        title: str, url: str | None = None, author: str | None = None, publisher: str | None = None
    ) -> dict[str, Any]:
        """Register a source that was read. The answer has the source_id to cite it by and to tag findings with."""
        return {"title": title, "url": url, "author": author, "publisher": publisher}

    return with_source_ids(register_source, repository)


def _listing(repository: Any) -> Callable[[], Awaitable[list[dict[str, Any]]]]:
    async def list_sources() -> list[dict[str, Any]]:
        """List every source that is registered, with its source_id."""
        return [_row(source) async for source in repository.iter_sources()]

    return list_sources


def _row(source: ResearchSource) -> dict[str, Any]:
    return {"source_id": source.source_id, "title": source.title, "url": source.url}
