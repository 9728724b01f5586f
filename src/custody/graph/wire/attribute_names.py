"""What names of attributes mean: OpenTelemetry's ``gen_ai.*`` and ``mcp.*``, OpenInference's and OpenLLMetry's.

This file is the only one that says which kind a span of another tool is, what it is called and whose tool it was.
Tables, not branches: a new word is a row.
"""

from collections.abc import Mapping
from types import MappingProxyType

from custody.core.views import SpanKind
from custody.graph.wire.otlp_span import OtlpSpan, OtlpValue

SPAN_KIND = "openinference.span.kind"
OPERATION = "gen_ai.operation.name"
MCP_METHOD = "mcp.method.name"
TRACELOOP_KIND = "traceloop.span.kind"

OPENINFERENCE: Mapping[str, SpanKind] = MappingProxyType(
    {
        "AGENT": SpanKind.AGENT,
        "CHAIN": SpanKind.WORKFLOW,
        "EMBEDDING": SpanKind.LLM,
        "EVALUATOR": SpanKind.CAPABILITY,
        "GUARDRAIL": SpanKind.CAPABILITY,
        "LLM": SpanKind.LLM,
        "PROMPT": SpanKind.CAPABILITY,
        "RERANKER": SpanKind.RETRIEVAL,
        "RETRIEVER": SpanKind.RETRIEVAL,
        "TOOL": SpanKind.TOOL,
    }
)
OPERATIONS: Mapping[str, SpanKind] = MappingProxyType(
    {
        "chat": SpanKind.LLM,
        "completion": SpanKind.LLM,
        "create_agent": SpanKind.AGENT,
        "embeddings": SpanKind.LLM,
        "execute_tool": SpanKind.TOOL,
        "generate_content": SpanKind.LLM,
        "invoke_agent": SpanKind.AGENT,
        "invoke_workflow": SpanKind.WORKFLOW,
        "retrieval": SpanKind.RETRIEVAL,
        "text_completion": SpanKind.LLM,
    }
)
MCP_METHODS: Mapping[str, SpanKind] = MappingProxyType(
    {
        "completion/complete": SpanKind.LLM,
        "prompts/get": SpanKind.RETRIEVAL,
        "resources/read": SpanKind.RETRIEVAL,
        "sampling/createMessage": SpanKind.LLM,
        "tools/call": SpanKind.TOOL,
    }
)
"""What else a session with a server does (listing, subscribing, pinging) is its own housekeeping: a capability."""
TRACELOOP: Mapping[str, SpanKind] = MappingProxyType(
    {
        "agent": SpanKind.AGENT,
        "task": SpanKind.CAPABILITY,
        "tool": SpanKind.TOOL,
        "workflow": SpanKind.WORKFLOW,
    }
)
HINTS: Mapping[str, SpanKind] = MappingProxyType(
    {
        "gen_ai.tool.name": SpanKind.TOOL,
        "tool.name": SpanKind.TOOL,
        "gen_ai.request.model": SpanKind.LLM,
        "gen_ai.response.model": SpanKind.LLM,
        "llm.model_name": SpanKind.LLM,
        "llm.request.type": SpanKind.LLM,
        "gen_ai.workflow.name": SpanKind.WORKFLOW,
        "gen_ai.data_source.id": SpanKind.RETRIEVAL,
    }
)
"""What a span is that names no kind, by an attribute that only such spans have; the first that is there decides."""
NAMES: Mapping[SpanKind, tuple[str, ...]] = MappingProxyType(
    {
        SpanKind.TOOL: ("gen_ai.tool.name", "tool.name", "traceloop.entity.name"),
        SpanKind.AGENT: ("gen_ai.agent.name", "agent.name", "llm.agent.name", "traceloop.entity.name"),
        SpanKind.LLM: ("gen_ai.request.model", "llm.model_name", "gen_ai.response.model", "embedding.model_name"),
        SpanKind.WORKFLOW: ("gen_ai.workflow.name", "traceloop.entity.name"),
        SpanKind.CAPABILITY: ("traceloop.entity.name",),
        SpanKind.RETRIEVAL: ("gen_ai.data_source.id", "mcp.resource.uri", "reranker.model_name"),
    }
)
"""Where a kind's own name stands; else the span's name is it."""
SERVERS = ("mcp.server.name", "mcp.server", "rpc.service", "server.address")
SESSIONS = ("session.id", "gen_ai.conversation.id", "langfuse.session.id")
SERVICE = "service.name"
UNNAMED_SERVICE = "unknown_service"
VERBS = ("execute_tool ", "invoke_agent ", "create_agent ", "invoke_workflow ", "tools/call ")
"""What the conventions put before a name."""
MCP_TOOL = "mcp__"
"""Agents call the tools of servers ``mcp__SERVER__TOOL``."""

TEXTS = (
    "db.query.text",
    "db.statement",
    "document",
    "embedding.embeddings",
    "embedding.text",
    "exception.message",
    "exception.stacktrace",
    "gen_ai.agent.description",
    "gen_ai.completion",
    "gen_ai.evaluation.explanation",
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.prompt",
    "gen_ai.retrieval.documents",
    "gen_ai.retrieval.query.text",
    "gen_ai.system_instructions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.tool.definitions",
    "gen_ai.tool.description",
    "http.request.body",
    "http.response.body",
    "input.value",
    "llm.choices",
    "llm.function_call",
    "llm.input_messages",
    "llm.invocation_parameters",
    "llm.output_messages",
    "llm.prompt_template",
    "llm.prompts",
    "llm.tools",
    "message",
    "otel.status_description",
    "output.value",
    "reranker.input_documents",
    "reranker.output_documents",
    "reranker.query",
    "retrieval.documents",
    "tool.description",
    "tool.json_schema",
    "tool.parameters",
    "traceloop.entity.input",
    "traceloop.entity.output",
    "user_prompt",
)
"""Attributes that hold what somebody wrote or a model said; also those whose names begin so, up to a dot."""
NOT_TEXTS = frozenset(("gen_ai.prompt.name",))


def is_text(name: str) -> bool:
    """Whether an attribute holds a prompt, an answer, a document or the like.

    >>> is_text("input.value"), is_text("llm.input_messages.0.message.content"), is_text("input.mime_type")
    (True, True, False)
    """
    if name in NOT_TEXTS:
        return False
    parts = name.split(".")
    return any(".".join(parts[:count]) in _TEXT_NAMES for count in range(1, len(parts) + 1))


_TEXT_NAMES = frozenset(TEXTS)


def kind_of(span: OtlpSpan) -> SpanKind:
    """What a span is a stretch of; a capability where nothing says more: a function of the program.

    >>> kind_of(OtlpSpan(trace="t", id="s", name="x", attributes={"openinference.span.kind": "RETRIEVER"}))
    <SpanKind.RETRIEVAL: 'retrieval'>
    """
    given = span.attributes
    for look in (_by_openinference, _by_operation, _by_method, _by_traceloop):
        if (kind := look(given)) is not None:
            return kind
    return next((kind for name, kind in HINTS.items() if given.get(name) is not None), SpanKind.CAPABILITY)


def name_of(span: OtlpSpan, kind: SpanKind) -> tuple[str, str | None]:
    """What was called, and for a tool whose it was, where that is told."""
    said = _first_text(span.attributes, NAMES.get(kind, ())) or _without_verb(span.name)
    if kind is not SpanKind.TOOL:
        return said, None
    name, server = tool_name(said)
    return name, server or _server(span.attributes)


def tool_name(name: str) -> tuple[str, str | None]:
    """A tool's name and its server's, where the one holds the other.

    >>> tool_name("mcp__github__get_issue"), tool_name("Read"), tool_name("mcp__x")
    (('get_issue', 'github'), ('Read', None), ('mcp__x', None))
    """
    server, _, tool = name.removeprefix(MCP_TOOL).partition("__")
    return (tool, server) if name.startswith(MCP_TOOL) and server and tool else (name, None)


def session_of(span: OtlpSpan) -> str | None:
    """The session that a span names."""
    return _first_text(span.attributes, SESSIONS) or _first_text(span.resource, SESSIONS[:1])


def agent_of(span: OtlpSpan) -> str | None:
    """The program that a span is of; None for one that its maker did not name."""
    service = _first_text(span.resource, (SERVICE,)) or _first_text(span.attributes, (SERVICE,))
    return None if service is None or service.startswith(UNNAMED_SERVICE) else service


def _server(given: Mapping[str, OtlpValue]) -> str | None:
    """A server only where a method says that one was asked: an address alone is any service's."""
    return _first_text(given, SERVERS if MCP_METHOD in given else SERVERS[:2])


def _by_openinference(given: Mapping[str, OtlpValue]) -> SpanKind | None:
    return OPENINFERENCE.get(str(given.get(SPAN_KIND)).upper())


def _by_operation(given: Mapping[str, OtlpValue]) -> SpanKind | None:
    return OPERATIONS.get(str(given.get(OPERATION)).lower())


def _by_method(given: Mapping[str, OtlpValue]) -> SpanKind | None:
    method = given.get(MCP_METHOD)
    return MCP_METHODS.get(method, SpanKind.CAPABILITY) if isinstance(method, str) else None


def _by_traceloop(given: Mapping[str, OtlpValue]) -> SpanKind | None:
    return TRACELOOP.get(str(given.get(TRACELOOP_KIND)).lower())


def _first_text(given: Mapping[str, OtlpValue], names: tuple[str, ...]) -> str | None:
    found = (given.get(name) for name in names)
    return next((text for text in found if isinstance(text, str) and text.strip()), None)


def _without_verb(name: str) -> str:
    verb = next((verb for verb in VERBS if name.startswith(verb) and len(name) > len(verb)), "")
    return name.removeprefix(verb)
