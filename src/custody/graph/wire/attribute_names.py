"""Attribute names of OpenTelemetry (``gen_ai.*``, ``mcp.*``), OpenInference and OpenLLMetry.

Only this file defines the kind, the name and the server of another tool's span. It uses tables, so a new name is a row.
"""

from collections.abc import Mapping
from functools import lru_cache
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
"""Other methods of a session with a server (listing, subscribing, pinging) are capabilities."""
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
"""The kind of a span that names none, by an attribute that only such spans have; the first match counts."""
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
"""The attributes with a kind's own name; without one, the span's name is used."""
SERVERS = ("mcp.server.name", "mcp.server", "rpc.service", "server.address")
SESSIONS = ("session.id", "gen_ai.conversation.id", "langfuse.session.id")
SERVICE = "service.name"
UNNAMED_SERVICE = "unknown_service"
VERBS = ("execute_tool ", "invoke_agent ", "create_agent ", "invoke_workflow ", "tools/call ")
"""Prefixes that the conventions put before a name."""
MCP_TOOL = "mcp__"
"""Prefix of agents' names for tools of servers: ``mcp__SERVER__TOOL``."""

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
"""Attributes with text of people or models; longer names that start with one of these and a dot count too."""
NOT_TEXTS = frozenset(("gen_ai.prompt.name",))


@lru_cache(512)  # a program repeats few names in many spans
def is_text_attribute(name: str) -> bool:
    """Return whether an attribute holds a prompt, an answer, a document or similar text.

    >>> is_text_attribute("input.value"), is_text_attribute("llm.input_messages.0.message.content")
    (True, True)
    >>> is_text_attribute("input.mime_type")
    False
    """
    if name in NOT_TEXTS:
        return False
    parts = name.split(".")
    return any(".".join(parts[:count]) in _TEXT_NAMES for count in range(1, len(parts) + 1))


_TEXT_NAMES = frozenset(TEXTS)


def span_kind_from_otlp(span: OtlpSpan) -> SpanKind:
    """Return the kind of a span; by default a capability, which is a function of the program.

    >>> span_kind_from_otlp(OtlpSpan(trace="t", id="s", name="x", attributes={"openinference.span.kind": "RETRIEVER"}))
    <SpanKind.RETRIEVAL: 'retrieval'>
    """
    attributes = span.attributes
    for kind_from_attributes in (
        _kind_from_openinference,
        _kind_from_operation,
        _kind_from_mcp_method,
        _kind_from_traceloop,
    ):
        if (kind := kind_from_attributes(attributes)) is not None:
            return kind
    return next((kind for name, kind in HINTS.items() if attributes.get(name) is not None), SpanKind.CAPABILITY)


NAMING: frozenset[str] = frozenset(
    (
        *(SPAN_KIND, OPERATION, MCP_METHOD, TRACELOOP_KIND, SERVICE),
        *HINTS,
        *(name for names in NAMES.values() for name in names),
        *SERVERS,
        *SESSIONS,
    )
)
"""The attributes that decide about the kind, the name, the server, the agent and the session of a span."""


def call_name_from_otlp(span: OtlpSpan, kind: SpanKind) -> tuple[str, str | None]:
    """Return the name of the call and, for a tool, its server if known."""
    name = _find_text_attribute(span.attributes, NAMES.get(kind, ())) or _strip_span_verb(span.name)
    if kind is not SpanKind.TOOL:
        return name, None
    name, server = split_mcp_tool_name(name)
    return name, server or _find_mcp_server(span.attributes)


def split_mcp_tool_name(name: str) -> tuple[str, str | None]:
    """Split a tool's name from its server's, if it has both.

    >>> split_mcp_tool_name("mcp__github__get_issue"), split_mcp_tool_name("Read"), split_mcp_tool_name("mcp__x")
    (('get_issue', 'github'), ('Read', None), ('mcp__x', None))
    """
    server, _, tool = name.removeprefix(MCP_TOOL).partition("__")
    return (tool, server) if name.startswith(MCP_TOOL) and server and tool else (name, None)


def session_from_otlp_span(span: OtlpSpan) -> str | None:
    """Return the session that a span names."""
    return _find_text_attribute(span.attributes, SESSIONS) or _find_text_attribute(span.resource, SESSIONS[:1])


def agent_from_otlp_span(span: OtlpSpan) -> str | None:
    """Return the program that a span belongs to; None if it is unnamed."""
    service = _find_text_attribute(span.resource, (SERVICE,)) or _find_text_attribute(span.attributes, (SERVICE,))
    return None if service is None or service.startswith(UNNAMED_SERVICE) else service


def _find_mcp_server(attributes: Mapping[str, OtlpValue]) -> str | None:
    """Return the server; a URL counts only with an MCP method, since any service has one."""
    return _find_text_attribute(attributes, SERVERS if MCP_METHOD in attributes else SERVERS[:2])


def _kind_from_openinference(attributes: Mapping[str, OtlpValue]) -> SpanKind | None:
    return OPENINFERENCE.get(str(attributes.get(SPAN_KIND)).upper())


def _kind_from_operation(attributes: Mapping[str, OtlpValue]) -> SpanKind | None:
    return OPERATIONS.get(str(attributes.get(OPERATION)).lower())


def _kind_from_mcp_method(attributes: Mapping[str, OtlpValue]) -> SpanKind | None:
    method = attributes.get(MCP_METHOD)
    return MCP_METHODS.get(method, SpanKind.CAPABILITY) if isinstance(method, str) else None


def _kind_from_traceloop(attributes: Mapping[str, OtlpValue]) -> SpanKind | None:
    return TRACELOOP.get(str(attributes.get(TRACELOOP_KIND)).lower())


def _find_text_attribute(attributes: Mapping[str, OtlpValue], names: tuple[str, ...]) -> str | None:
    for name in names:
        if isinstance(text := attributes.get(name), str) and text.strip():
            return text
    return None


def _strip_span_verb(name: str) -> str:
    verb = next((verb for verb in VERBS if name.startswith(verb) and len(name) > len(verb)), "")
    return name.removeprefix(verb)
