"""Shapes of the lines of Codex CLI's rollouts, in every version.

Pure. From ``codex-rs/protocol/src/{protocol,models,items}.rs`` and ``codex-rs/rollout/src/policy.rs`` at commit
343074d4207d (August 2026). A thread with ``history_mode`` legacy has events for patches, prompts and searches; a
paginated thread has ``item_completed``. Threads from before September 2025 have items without an envelope. Tested with
rollouts that Codex wrote in August 2025 and with 0.34 to 0.146, none of them paginated.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from custody.capture.agents.codex.tool_calls import (
    BASH,
    SPAWN,
    find_shell_command,
    normalize_tool_name,
    parse_tool_input,
    parse_tool_output,
)
from custody.capture.tool_use import ToolOutput, ToolUse
from custody.capture.typed_field import Fields, get_fields, get_items, get_string
from custody.core.patterns import lazy_pattern
from custody.core.wire.canonical import Json

# Commands that a script of Codex CLI runs. Since summer 2026 models may write JavaScript for a tool named ``exec``, and
# the rollout has only the script: ``const r = await tools.exec_command({"cmd": "ls"}); text(r.output)``. Rollouts of
# 0.137 to 0.146 do (patches in scripts have their own events). A command counts if the script contains it as a text and
# certainly ran it: nothing before it branches or loops.


SCRIPT = "exec"
CHARS_MAX = 200_000
DEPTH_MAX = 20
ENDS = frozenset(", ) ] } ;".split())
BRANCHING = frozenset("if for while do switch function try catch => ? ?? && ||".split())

_TOKEN = lazy_pattern(
    r"""(?P<space>\s+|//[^\n]*|/\*(?:.*?\*/|.*))
    |(?P<name>[^\W\d][\w$]*|\$[\w$]*)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\$]|\\.|\$(?!\{))*`)
    |(?P<number>\d[\w.]*)
    |(?P<symbol>=>|&&|\|\||\?\.|\?\?|.)""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = lazy_pattern(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_CONSTANTS: dict[str, Json] = {"true": True, "false": False, "null": None, "undefined": None}


def parse_script_command(script: str) -> ToolUse | None:
    r"""Return the command that a script certainly ran, several as lines of one; None where that is unclear.

    >>> use = parse_script_command('text(await tools.exec_command({cmd: "make", workdir: "/w"}))')
    >>> use.input, use.folder
    ({'command': 'make'}, '/w')
    """
    if len(script) > CHARS_MAX or "tools." not in script:
        return None
    try:
        uses = _Script(script).commands()
    except _UnreadableScript:
        return None
    commands = [command for command in map(find_shell_command, uses) if command is not None]
    if not commands or len(commands) < len(uses) or len({use.folder for use in uses}) > 1:
        return None
    if len(commands) > 1 and any("cd " in command for command in commands):
        return None  # each command started in the same folder; as lines of one command they would not
    return replace(uses[0], input={"command": "\n".join(commands)})


class _UnreadableScript(Exception):
    """The script cannot be parsed."""


class _Token(NamedTuple):
    kind: str
    text: str


class _Script:
    """A script as tokens, and the values of its names."""

    def __init__(self, script: str) -> None:
        tokens = (_Token(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(script))
        self.tokens: Sequence[_Token] = [token for token in tokens if token.kind != "space"]
        self.bound: dict[str, Json] = {}
        self.at = 0

    def commands(self) -> list[ToolUse]:
        """Return the calls of shell tools, each with its input."""
        uses, branched = list[ToolUse](), False
        while self.at < len(self.tokens):
            branched = branched or self.tokens[self.at].text in BRANCHING
            if self._comes("const") or self._comes("let") or self._comes("var"):
                self._bind()
            elif self._comes("tools", "."):
                tool = normalize_tool_name(self._next().text)
                if tool == BASH:
                    if branched or not self._comes("("):
                        raise _UnreadableScript
                    uses.append(parse_tool_input(tool, self._value()))
            else:
                self.at += 1
        return uses

    def _bind(self) -> None:
        name = self._next().text
        if self._comes("="):
            start = self.at
            try:
                self.bound[name] = self._value()
            except _UnreadableScript:
                self.at = start  # not a value: it may be a call

    def _comes(self, *texts: str) -> bool:
        """Return whether these tokens come next, and skip them if so."""
        if tuple(token.text for token in self.tokens[self.at : self.at + len(texts)]) != texts:
            return False
        self.at += len(texts)
        return True

    def _next(self) -> _Token:
        if self.at >= len(self.tokens):
            raise _UnreadableScript
        self.at += 1
        return self.tokens[self.at - 1]

    # --- values -------------------------------------------------------------------------------------------------------

    def _value(self, depth: int = 0) -> Json:
        """Return a value that the script contains as a literal or under a name."""
        if depth > DEPTH_MAX:
            raise _UnreadableScript
        value = self._parse_value(depth)
        if isinstance(value, list) and self._comes(".", "join", "("):
            value = self._join_strings(value, self._parse_value(depth))
            if not self._comes(")"):
                raise _UnreadableScript
        while isinstance(value, str) and self._comes("+"):
            value = self._join_strings([value, self._parse_value(depth)], "")
        after = self.tokens[self.at] if self.at < len(self.tokens) else _Token("symbol", ";")
        if after.kind != "name" and after.text not in ENDS:
            raise _UnreadableScript  # an unsupported expression follows
        return value

    def _parse_value(self, depth: int) -> Json:
        token = self._next()
        if token.kind == "text":
            return _unescape_script_string(token.text[1:-1])
        if token.kind == "number":
            return token.text
        if token.text == "{":
            return self._object(depth)
        if token.text == "[":
            return self._list(depth)
        if token.text in _CONSTANTS:
            return _CONSTANTS[token.text]
        if token.text in self.bound:
            return self.bound[token.text]
        raise _UnreadableScript

    def _object(self, depth: int) -> Json:
        entry: dict[str, Json] = {}
        while not self._comes("}"):
            token = self._next()
            key = _unescape_script_string(token.text[1:-1]) if token.kind == "text" else token.text
            if self._comes(":"):
                entry[key] = self._value(depth + 1)
            elif token.kind == "name" and key in self.bound:
                entry[key] = self.bound[key]
            else:
                raise _UnreadableScript
            if not self._comes(",") and self.tokens[self.at : self.at + 1] != [_Token("symbol", "}")]:
                raise _UnreadableScript
        return entry

    def _list(self, depth: int) -> Json:
        items = list[Json]()
        while not self._comes("]"):
            items.append(self._value(depth + 1))
            if not self._comes(",") and self.tokens[self.at : self.at + 1] != [_Token("symbol", "]")]:
                raise _UnreadableScript
        return items

    def _join_strings(self, values: Sequence[Json], between: Json) -> str:
        texts = [value for value in values if isinstance(value, str)]
        if len(texts) != len(values) or not isinstance(between, str):
            raise _UnreadableScript
        if sum(map(len, texts)) + len(between) * len(texts) > CHARS_MAX:
            raise _UnreadableScript  # a text that is joined with itself again and again
        return between.join(texts)


def _unescape_script_string(text: str) -> str:
    plain_text = _ESCAPE.sub(_decode_script_escape, text)
    return plain_text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _decode_script_escape(match: re.Match[str]) -> str:
    number = match[1] or match[2] or match[3]
    if number is None:
        return _PLAIN.get(match[4], match[4])
    return chr(min(int(number, 16), 0x10FFFF))


CALLS = frozenset(("function_call", "custom_tool_call", "local_shell_call"))
OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output"))
WEB_SEARCH = "web_search"
ITEM = "item_completed"
NOT_TYPED = (
    "<environment_context",
    "<user_instructions",
    "<turn_aborted",
    "<subagent_notification",
    "<user_shell_command",
    "<skill",
    "# AGENTS.md instructions",
)
"""Prefixes of texts that the program writes in place of a prompt."""

REQUEST = "## My request for Codex:"
"""Separates an editor's context (open files, a selection) from the typed prompt."""

_CWD = lazy_pattern(r"<cwd>([^<\n]+)</cwd>|^Current working directory: ([^\n]+)$", re.MULTILINE)


class RolloutOrigin(Struct, frozen=True):
    """The origin of the lines after a ``session_meta``: session, subagent if it is one, and folder.

    ``by_program``: the program started this thread (a subagent, a review, a summary), so no person types in it.
    """

    thread: str
    session: str
    subagent: str | None
    cwd: str | None
    forked_from: str | None
    by_program: bool = False


def parse_rollout_origin(meta: Fields) -> RolloutOrigin | None:
    """Return the origin that a ``session_meta`` names; None if it names no thread.

    A subagent's thread is part of the session that started it. Newer rollouts name that session, older ones the parent.
    """
    thread = get_string(meta.get("id")) or get_string(meta.get("session_id"))
    if not thread:
        return None
    source = {key.replace("_", ""): value for key, value in get_fields(meta.get("source")).items() if value}
    spawn = get_fields(get_fields(source.get("subagent")).get("thread_spawn"))
    parent = get_string(spawn.get("parent_thread_id")) or get_string(meta.get("parent_thread_id"))
    session = get_string(meta.get("session_id")) or (parent if spawn else None) or thread
    return RolloutOrigin(
        thread=thread,
        session=session,
        subagent=thread if spawn and session != thread else None,
        cwd=get_string(meta.get("cwd")),
        forked_from=get_string(meta.get("forked_from_id")),
        by_program="subagent" in source,
    )


def unwrap_rollout_line(value: Fields) -> tuple[str, Fields]:
    """Return the kind of a line and its content; without an envelope it is an item, or its file's first line."""
    kind, inner = get_string(value.get("type")), value.get("payload")
    if kind is not None and isinstance(inner, dict):
        return kind, inner
    if kind is not None:
        return "response_item", value
    if "record_type" in value:
        return "state", value
    return ("session_meta", value) if "id" in value and "timestamp" in value else ("(no type)", value)


def name_rollout_line(kind: str, inner: Fields) -> str:
    """Return the name of a line: the type of its content, or its own kind."""
    if kind not in ("response_item", "event_msg"):
        return kind
    name = get_string(inner.get("type")) or "(no type)"
    return f"{name}/{get_string(get_fields(inner.get('item')).get('type')) or '(no type)'}" if name == ITEM else name


def read_call_id(inner: Fields) -> str | None:
    """Return the call that a line belongs to."""
    return (
        get_string(inner.get("call_id"))
        or get_string(get_fields(inner.get("item")).get("id"))
        or get_string(inner.get("id"))
    )


def read_call_start(inner: Fields) -> ToolUse:
    """Return the call that a line starts, with its tool and input; a script that runs a command is that command."""
    if inner.get("type") == "local_shell_call":
        return parse_tool_input(normalize_tool_name("local_shell"), inner.get("action"))
    tool = normalize_tool_name(get_string(inner.get("name")) or "", get_string(inner.get("namespace")))
    script = get_string(inner.get("input")) if tool == SCRIPT else None
    if script is not None:
        return parse_script_command(script) or parse_tool_input(SCRIPT, {})
    return parse_tool_input(tool, inner.get("arguments", inner.get("input")))


class PatchEnd(Struct, frozen=True):
    """The end of a patch: its call, whether it was applied, and what it changed."""

    call: str
    applied: bool
    changes: Fields


def read_patch_end(inner: Fields) -> PatchEnd | None:
    """Return the end of a patch from ``patch_apply_end`` or a finished ``FileChange``; None for any other line."""
    fields = _select_rollout_item(inner, "patch_apply_end", "FileChange")
    call = read_call_id(inner)
    if fields is None or not call:
        return None
    applied = fields.get("success") is True or ("success" not in fields and fields.get("status") in (None, "completed"))
    return PatchEnd(call, applied, get_fields(fields.get("changes")))


class CommandEnd(Struct, frozen=True):
    """The end of a command that the agent ran."""

    call: str
    use: ToolUse
    answer: ToolOutput


def read_command_end(inner: Fields) -> CommandEnd | None:
    """Return the end of a command from ``exec_command_end`` or ``CommandExecution``; None for a person's command."""
    fields = _select_rollout_item(inner, "exec_command_end", "CommandExecution")
    call = read_call_id(inner)
    if (
        fields is None
        or not call
        or fields.get("source") in ("user_shell", "userShell")
        or fields.get("interaction_input")
    ):
        return None
    tool = normalize_tool_name("exec_command")
    return CommandEnd(
        call,
        parse_tool_input(tool, {"command": fields.get("command"), "cwd": fields.get("cwd")}),
        parse_tool_output(fields),
    )


class WebSearchLine(Struct, frozen=True):
    """A web search: its call if it has an id, its action, and the reported hits."""

    call: str | None
    action: Fields
    results: object


def read_web_search(inner: Fields) -> WebSearchLine | None:
    """Return the web search that a line reports; None for any other line."""
    if inner.get("type") == "web_search_call":
        return WebSearchLine(get_string(inner.get("id")), get_fields(inner.get("action")), None)
    fields = _select_rollout_item(inner, "web_search_end", "WebSearch")
    return (
        None
        if fields is None
        else WebSearchLine(read_call_id(inner), get_fields(fields.get("action")), fields.get("results"))
    )


def read_typed_prompt(inner: Fields) -> object:
    """Return the text that a person typed; None for any other line."""
    fields = _select_rollout_item(inner, "user_message", "UserMessage")
    if fields is None and inner.get("type") == "message" and inner.get("role") == "user":
        fields = inner
    if fields is None:
        return None
    return extract_typed_request(
        fields["message"] if "message" in fields else _join_message_texts(fields.get("content"))
    )


def extract_typed_request(value: object) -> object:
    r"""Return the typed text without an editor's context above it.

    >>> extract_typed_request("# Context from my IDE setup:\n\n## My request for Codex:\nmend it\n")
    'mend it'
    """
    return value.rpartition(REQUEST)[2].strip() if isinstance(value, str) and REQUEST in value else value


def is_typed_prompt(value: object) -> bool:
    """Return whether a person wrote a text, not the program."""
    return not isinstance(value, str) or bool(value.strip() and not value.lstrip().startswith(NOT_TYPED))


def read_message_folder(inner: Fields) -> str | None:
    """Return the folder that old rollouts name in the program's first message."""
    text = _join_message_texts(inner.get("content")) if inner.get("type") == "message" else None
    match = _CWD.search(text) if isinstance(text, str) else None
    return None if match is None else (match[1] or match[2])


def read_subagent_spawn(inner: Fields) -> tuple[str, str] | None:
    """Return the subagent and the call that started it, if one line names both."""
    fields = _select_rollout_item(inner, "sub_agent_activity", "SubAgentActivity")
    if fields is not None and get_string(fields.get("kind")) in ("started", "Started"):
        agent, call = (
            get_string(fields.get("agent_thread_id")),
            get_string(fields.get("event_id")) or get_string(fields.get("id")),
        )
        return (agent, call) if agent and call else None
    fields = _select_rollout_item(inner, "collab_agent_spawn_end", "CollabAgentToolCall")
    if fields is None or fields.get("tool") not in (None, SPAWN, "spawnAgent", "SpawnAgent"):
        return None
    threads = [fields.get("new_thread_id"), *get_items(fields.get("receiver_thread_ids"))]
    agents, call = [agent for agent in threads if isinstance(agent, str)], read_call_id(inner)
    return (agents[0], call) if agents and call else None


def _select_rollout_item(inner: Fields, event: str, item: str) -> Fields | None:
    """Return the event of this name, or the finished item of that name."""
    if inner.get("type") == event:
        return inner
    finished = get_fields(inner.get("item"))
    return finished if inner.get("type") == ITEM and finished.get("type") == item else None


def _join_message_texts(content: object) -> str | None:
    if isinstance(content, str):
        return content
    texts = [get_string(get_fields(item).get("text")) for item in get_items(content)]
    known = [text for text in texts if text is not None]
    return "\n".join(known) if known else None


KNOWN: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "line": frozenset(
            "compacted world_state security_risk_score inter_agent_communication state"
            " inter_agent_communication_metadata".split()
        ),
        "response_item": frozenset(
            "function_call custom_tool_call local_shell_call function_call_output custom_tool_call_output"
            " web_search_call message reasoning agent_message tool_search_call tool_search_output"
            " image_generation_call compaction compaction_summary context_compaction compaction_trigger"
            " additional_tools ghost_snapshot other".split()
        ),
        "event_msg": frozenset(
            "agent_message agent_reasoning agent_reasoning_raw_content agent_reasoning_section_break token_count"
            " task_started task_complete turn_started turn_complete turn_aborted turn_diff thread_rolled_back"
            " thread_goal_updated thread_settings_applied thread_name_updated context_compacted entered_review_mode"
            " exited_review_mode mcp_tool_call_begin mcp_tool_call_end image_generation_end view_image_tool_call"
            " sub_agent_activity collab_agent_spawn_begin collab_agent_spawn_end patch_apply_begin patch_apply_updated"
            " patch_apply_end exec_command_begin exec_command_output_delta exec_command_end web_search_begin"
            " web_search_end item_started plan_update error warning stream_error background_event undo_started"
            " undo_completed session_configured shutdown_complete user_message".split()
        ),
        ITEM: frozenset(
            "UserMessage FileChange WebSearch HookPrompt AgentMessage Plan Reasoning DynamicToolCall"
            " CollabAgentToolCall SubAgentActivity ImageView Extension ImageGeneration EnteredReviewMode"
            " ExitedReviewMode McpToolCall ContextCompaction CommandExecution".split()
        ),
    }
)
"""The names that this reader knows, stored or skipped. Others are counted in the report."""


def is_known_rollout_line(kind: str, inner: Fields) -> bool:
    """Return whether this reader knows the type of a skipped line."""
    name = name_rollout_line(kind, inner)
    if name.startswith(f"{ITEM}/"):
        return name.partition("/")[2] in KNOWN[ITEM]
    return name in KNOWN[kind if kind in KNOWN else "line"] or name in ("session_meta", "turn_context")
