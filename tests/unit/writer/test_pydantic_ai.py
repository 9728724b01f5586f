"""The adapter for pydantic-ai, with its own models that need no network."""

import asyncio
import sys
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext, ToolReturn, models
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from custody.core.errors import install_hint
from custody.sources import (
    CitationWarning,
    HierarchicalFinding,
    InMemorySourceRepository,
    MissingExtra,
    ReportWriter,
    ResearchResults,
    ResearchSource,
    agent_writer,
    citation_instructions,
    executor_instructions,
    generate_structured_result,
    source_tools,
)
from tests.unit.cite.drafts import SOURCES, TEXT

BAD = TEXT.replace("[S7]", "[S9]")


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models, "ALLOW_MODEL_REQUESTS", False)


def search(ctx: RunContext[str], query: str) -> list[dict[str, str]]:
    """Search the web."""
    return [{"title": f"{query} for {ctx.deps}", "url": "https://example.org/a"}]


def returns_of(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    return [
        part
        for message in messages
        if isinstance(message, ModelRequest)
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    ]


def test_an_agent_writes_and_is_asked_again_with_what_is_missing() -> None:
    asked: list[str] = []

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        (request,) = messages
        asked.append(str(request.parts[-1].content))  # type: ignore[union-attr]  # the prompt of this run
        return ModelResponse(parts=[TextPart(BAD if len(asked) == 1 else TEXT)])

    agent = Agent(FunctionModel(answer))
    report = asyncio.run(ReportWriter(agent_writer(agent)).write(ResearchResults(sources=SOURCES)))
    assert report.passed and report.audit_failures == 1
    assert "CITATION CONTRACT" in asked[0] and "MISSING CITATIONS" not in asked[0]
    assert "- [S7] is listed but never cited" in asked[1]


def test_an_agent_that_never_cites_is_a_warning() -> None:
    agent = Agent(TestModel(custom_output_text="Prices rose by 12% in 2024."))
    with pytest.warns(CitationWarning, match="CITE-NONE"):
        report = asyncio.run(ReportWriter(agent_writer(agent)).write(ResearchResults(sources=SOURCES)))
    assert report.audit_failures == 3


def test_instructions_have_the_current_sources() -> None:
    seen: list[str | None] = []

    def answer(_: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(info.instructions)
        return ModelResponse(parts=[TextPart("done")])

    repository = InMemorySourceRepository()
    writer = Agent(FunctionModel(answer), instructions=citation_instructions(repository))
    executor = Agent(FunctionModel(answer), instructions=executor_instructions(repository))

    async def story() -> None:
        await writer.run("Write.")
        await repository.register(ResearchSource(title="A [page]", url="https://example.org/a"))
        await writer.run("Write.")
        await executor.run("Gather.")

    asyncio.run(story())
    assert "No sources are registered: write no markers" in str(seen[0])
    assert "S1 – A (page) (https://example.org/a)" in str(seen[1])
    assert "tag it with the" in str(seen[2]) and "S1 – A (page)" in str(seen[2])


def test_tools_register_sources_and_answer_with_their_ids() -> None:
    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if returns_of(messages):
            return ModelResponse(parts=[TextPart("done")])
        assert [tool.name for tool in info.function_tools] == ["register_source", "list_sources", "search"]
        assert list(info.function_tools[2].parameters_json_schema["properties"]) == ["query"]
        return ModelResponse(
            parts=[
                ToolCallPart("search", {"query": "fish"}),
                ToolCallPart("register_source", {"title": "An interview"}),
                ToolCallPart("list_sources", {}),
            ]
        )

    repository = InMemorySourceRepository()
    agent = Agent(FunctionModel(answer), deps_type=str, toolsets=[source_tools(repository, search)])
    returned = returns_of(asyncio.run(agent.run("Gather.", deps="ana")).all_messages())
    assert [part.content for part in returned] == [
        [{"title": "fish for ana", "url": "https://example.org/a", "source_id": "S1"}],
        {"title": "An interview", "url": None, "author": None, "publisher": None, "source_id": "S2"},
        [
            {"source_id": "S1", "title": "fish for ana", "url": "https://example.org/a"},
            {"source_id": "S2", "title": "An interview", "url": None},
        ],
    ]


def test_from_an_agents_tools_to_a_report_of_another_agent() -> None:
    """TestModel calls every tool once with generated arguments, as the framework does."""
    repository = InMemorySourceRepository()
    gatherer = Agent(TestModel(), deps_type=str, toolsets=[source_tools(repository, search)])

    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart("Prices rose by 12% in 2024 [S1]. Catches fell to 3,000 tonnes [S2].")])

    async def story() -> Any:
        await gatherer.run("Gather.", deps="ana")
        ids = [str(one.source_id) for one in repository.ordered_sources()]
        findings = [HierarchicalFinding(finding=f"finding {one}", source_ids=(one,)) for one in ids]
        results = await generate_structured_result(repository, findings)
        writer = ReportWriter(agent_writer(Agent(FunctionModel(answer))), repository=repository)
        return await writer.write(results)

    report = asyncio.run(story())
    assert report.passed and len(report.sources) == 2
    assert report.text.startswith(
        "Prices rose by 12% in 2024 [^1]. Catches fell to 3,000 tonnes [^2].\n\n## Footnotes\n"
    )


def test_a_tool_of_the_framework_keeps_its_wrapper() -> None:
    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        done = returns_of(messages)
        return ModelResponse(parts=[TextPart("done") if done else ToolCallPart("read", {"page": "a"})])

    def read(page: str) -> ToolReturn:
        return ToolReturn({"title": page, "url": "https://example.org/a"}, metadata="kept")

    agent = Agent(FunctionModel(answer), toolsets=[source_tools(InMemorySourceRepository(), read)])
    (part,) = returns_of(asyncio.run(agent.run("Gather.")).all_messages())
    assert part.content == {"title": "a", "url": "https://example.org/a", "source_id": "S1"}
    assert part.metadata == "kept"


def test_without_the_extra_its_name_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(MissingExtra, match="pydantic-ai is not installed") as missing:
        source_tools(InMemorySourceRepository())
    assert missing.value.hint == install_hint("agents")


def test_the_framework_is_not_imported_before_it_is_needed() -> None:
    import subprocess

    code = "import sys, custody.sources; sys.exit('pydantic_ai' in sys.modules or 'pydantic' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
