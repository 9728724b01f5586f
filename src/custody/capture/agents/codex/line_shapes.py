"""What the lines of Codex CLI's rollouts hold, in every shape that they have had.

Pure. From ``codex-rs/protocol/src/{protocol,models,items}.rs`` and ``codex-rs/rollout/src/policy.rs`` at commit
343074d4207d (August 2026): a thread with ``history_mode`` legacy tells of patches, prompts and searches in events of
their own, a paginated one in ``item_completed``. Threads from before September 2025 have the items without an envelope.
Rollouts that Codex itself wrote were read with it: of August 2025, and of 0.34 to 0.146; none of them was paginated.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from custody.capture.agents.codex.tool_calls import BASH, SPAWN, ToolInput, answer_of, parse_tool_input, plain
from custody.capture.command_facts import ToolOutput
from custody.capture.typed_field import Fields, fields, get_string, items
from custody.core.wire.canonical import Json

# Which commands a script of Codex CLI runs, where its own text tells that.
# Pure. Since summer 2026 models may write JavaScript for a tool named ``exec``, and the rollout has the script alone:
# ``const r = await tools.exec_command({"cmd": "ls"}); text(r.output)``. Rollouts of 0.137 to 0.146 are like that
# (patches of scripts have events of their own). A command counts that stands in the script as a text, and that
# certainly ran: nothing before it branches or loops. What cannot be told is not guessed.


SCRIPT = "exec"
CHARS_MAX = 200_000
DEPTH_MAX = 20
ENDS = frozenset(", ) ] } ;".split())
BRANCHING = frozenset("if for while do switch function try catch => ? ?? && ||".split())

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*(?:.*?\*/|.*))
    |(?P<name>[^\W\d][\w$]*|\$[\w$]*)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\$]|\\.|\$(?!\{))*`)
    |(?P<number>\d[\w.]*)
    |(?P<sign>=>|&&|\|\||\?\.|\?\?|.)""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None, "undefined": None}


def ran_in(script: str) -> ToolInput | None:
    r"""The command that a script certainly ran, several as lines of one; None where it tells none.

    >>> ran_in('text(await tools.exec_command({cmd: "make", workdir: "/w"}))')
    ToolInput(command='make', patch=None, folder='/w', rest=None)
    """
    if len(script) > CHARS_MAX or "tools." not in script:
        return None
    try:
        inputs = _Script(script).commands()
    except _UnreadableScript:
        return None
    commands = [tool_input.command for tool_input in inputs if tool_input.command is not None]
    if not commands or len(commands) < len(inputs) or len({tool_input.folder for tool_input in inputs}) > 1:
        return None
    if len(commands) > 1 and any("cd " in command for command in commands):
        return None  # each began in the same folder, which lines of one command would not
    return ToolInput("\n".join(commands), None, inputs[0].folder)


class _UnreadableScript(Exception):
    """The script cannot be read, or not to its end."""


class _Token(NamedTuple):
    kind: str
    text: str


class _Script:
    """A script as tokens, and the texts that names in it stand for."""

    def __init__(self, script: str) -> None:
        found = (_Token(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(script))
        self.tokens: Sequence[_Token] = [token for token in found if token.kind != "space"]
        self.bound: dict[str, Json] = {}
        self.at = 0

    def commands(self) -> list[ToolInput]:
        """What each call of a shell tool was given."""
        found, branched = list[ToolInput](), False
        while self.at < len(self.tokens):
            branched = branched or self.tokens[self.at].text in BRANCHING
            if self._comes("const") or self._comes("let") or self._comes("var"):
                self._bind()
            elif self._comes("tools", "."):
                tool = plain(self._next().text)
                if tool == BASH:
                    if branched or not self._comes("("):
                        raise _UnreadableScript
                    found.append(parse_tool_input(tool, self._value()))
            else:
                self.at += 1
        return found

    def _bind(self) -> None:
        name = self._next().text
        if self._comes("="):
            start = self.at
            try:
                self.bound[name] = self._value()
            except _UnreadableScript:
                self.at = start  # not a text: it may be a call

    def _comes(self, *texts: str) -> bool:
        """Whether these tokens come next, which are then passed."""
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
        """A value that stands in the script as it is, or under a name."""
        if depth > DEPTH_MAX:
            raise _UnreadableScript
        value = self._parse_value(depth)
        if isinstance(value, list) and self._comes(".", "join", "("):
            value = self._joined(value, self._parse_value(depth))
            if not self._comes(")"):
                raise _UnreadableScript
        while isinstance(value, str) and self._comes("+"):
            value = self._joined([value, self._parse_value(depth)], "")
        after = self.tokens[self.at] if self.at < len(self.tokens) else _Token("sign", ";")
        if after.kind != "name" and after.text not in ENDS:
            raise _UnreadableScript  # it goes on in a way that is not known here
        return value

    def _parse_value(self, depth: int) -> Json:
        token = self._next()
        if token.kind == "text":
            return _unescaped(token.text[1:-1])
        if token.kind == "number":
            return token.text
        if token.text == "{":
            return self._object(depth)
        if token.text == "[":
            return self._list(depth)
        if token.text in _WORDS:
            return _WORDS[token.text]
        if token.text in self.bound:
            return self.bound[token.text]
        raise _UnreadableScript

    def _object(self, depth: int) -> Json:
        made: dict[str, Json] = {}
        while not self._comes("}"):
            token = self._next()
            key = _unescaped(token.text[1:-1]) if token.kind == "text" else token.text
            if self._comes(":"):
                made[key] = self._value(depth + 1)
            elif token.kind == "name" and key in self.bound:
                made[key] = self.bound[key]
            else:
                raise _UnreadableScript
            if not self._comes(",") and self.tokens[self.at : self.at + 1] != [_Token("sign", "}")]:
                raise _UnreadableScript
        return made

    def _list(self, depth: int) -> Json:
        made = list[Json]()
        while not self._comes("]"):
            made.append(self._value(depth + 1))
            if not self._comes(",") and self.tokens[self.at : self.at + 1] != [_Token("sign", "]")]:
                raise _UnreadableScript
        return made

    def _joined(self, values: Sequence[Json], between: Json) -> str:
        texts = [value for value in values if isinstance(value, str)]
        if len(texts) != len(values) or not isinstance(between, str):
            raise _UnreadableScript
        if sum(map(len, texts)) + len(between) * len(texts) > CHARS_MAX:
            raise _UnreadableScript  # a text that is put together with itself again and again
        return between.join(texts)


def _unescaped(text: str) -> str:
    plain_text = _ESCAPE.sub(_escaped, text)
    return plain_text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _escaped(found: re.Match[str]) -> str:
    number = found[1] or found[2] or found[3]
    if number is None:
        return _PLAIN.get(found[4], found[4])
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
"""How texts begin that stand where a person's do, and were put there by the program."""

REQUEST = "## My request for Codex:"
"""What an editor puts between what it tells of itself (open files, a selection) and what was typed in it."""

_CWD = re.compile(r"<cwd>([^<\n]+)</cwd>|^Current working directory: ([^\n]+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RolloutOrigin:
    """Whose lines follow a ``session_meta``: the session, the subagent in it if it is one, and where it works.

    ``by_program``: no person types in this thread, since the program began it: for a subagent, a review, a summary.
    """

    thread: str
    session: str
    subagent: str | None
    cwd: str | None
    forked_from: str | None
    by_program: bool = False


def origin_of(meta: Fields) -> RolloutOrigin | None:
    """What a ``session_meta`` says; None where it names no thread.

    A subagent's thread is part of the session that started it: newer rollouts name that, older ones the thread above.
    """
    thread = get_string(meta.get("id")) or get_string(meta.get("session_id"))
    if not thread:
        return None
    source = {key.replace("_", ""): value for key, value in fields(meta.get("source")).items() if value}
    spawn = fields(fields(source.get("subagent")).get("thread_spawn"))
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


def unwrapped(value: Fields) -> tuple[str, Fields]:
    """The kind of a line and what is in it; a line without an envelope is an item, or the first line of its file."""
    kind, inner = get_string(value.get("type")), value.get("payload")
    if kind is not None and isinstance(inner, dict):
        return kind, inner
    if kind is not None:
        return "response_item", value
    if "record_type" in value:
        return "state", value
    return ("session_meta", value) if "id" in value and "timestamp" in value else ("(no type)", value)


def name_of(kind: str, inner: Fields) -> str:
    """What a line is called: the type of what is in it, or its own."""
    if kind not in ("response_item", "event_msg"):
        return kind
    named = get_string(inner.get("type")) or "(no type)"
    return f"{named}/{get_string(fields(inner.get('item')).get('type')) or '(no type)'}" if named == ITEM else named


def call_id(inner: Fields) -> str | None:
    """The call that a line is about."""
    return (
        get_string(inner.get("call_id"))
        or get_string(fields(inner.get("item")).get("id"))
        or get_string(inner.get("id"))
    )


def read_call_start(inner: Fields) -> tuple[str, ToolInput]:
    """The tool of a line that begins a call, and what it was given; a script that runs a command is that command."""
    if inner.get("type") == "local_shell_call":
        tool = plain("local_shell")
        return tool, parse_tool_input(tool, inner.get("action"))
    tool = plain(get_string(inner.get("name")) or "", get_string(inner.get("namespace")))
    script = get_string(inner.get("input")) if tool == SCRIPT else None
    if script is not None:
        ran = ran_in(script)
        return (SCRIPT, ToolInput(rest={})) if ran is None else (BASH, ran)
    return tool, parse_tool_input(tool, inner.get("arguments", inner.get("input")))


@dataclass(frozen=True, slots=True)
class PatchEnd:
    """The end of a patch: its call, whether it was applied, and what it changed."""

    call: str
    applied: bool
    changes: Fields


def read_patch_end(inner: Fields) -> PatchEnd | None:
    """What ``patch_apply_end`` or a finished ``FileChange`` says; None for any other line."""
    said = _of(inner, "patch_apply_end", "FileChange")
    call = call_id(inner)
    if said is None or not call:
        return None
    applied = said.get("success") is True or ("success" not in said and said.get("status") in (None, "completed"))
    return PatchEnd(call, applied, fields(said.get("changes")))


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """The end of a command that the agent ran."""

    call: str
    given: ToolInput
    answer: ToolOutput


def read_command_end(inner: Fields) -> CommandEnd | None:
    """What ``exec_command_end`` or a finished ``CommandExecution`` says; None for what a person ran."""
    said = _of(inner, "exec_command_end", "CommandExecution")
    call = call_id(inner)
    if said is None or not call or said.get("source") in ("user_shell", "userShell") or said.get("interaction_input"):
        return None
    tool = plain("exec_command")
    return CommandEnd(
        call, parse_tool_input(tool, {"command": said.get("command"), "cwd": said.get("cwd")}), answer_of(said)
    )


@dataclass(frozen=True, slots=True)
class WebSearchLine:
    """A web search: its call if that has a name, what was searched or opened, and the hits that were told."""

    call: str | None
    action: Fields
    results: object


def read_web_search(inner: Fields) -> WebSearchLine | None:
    """What a line says of a web search; None for any other line."""
    if inner.get("type") == "web_search_call":
        return WebSearchLine(get_string(inner.get("id")), fields(inner.get("action")), None)
    said = _of(inner, "web_search_end", "WebSearch")
    return None if said is None else WebSearchLine(call_id(inner), fields(said.get("action")), said.get("results"))


def read_typed_prompt(inner: Fields) -> object:
    """What a person typed, by the line that says so; None for any other line."""
    said = _of(inner, "user_message", "UserMessage")
    if said is None and inner.get("type") == "message" and inner.get("role") == "user":
        said = inner
    if said is None:
        return None
    return request_in(said["message"] if "message" in said else _texts(said.get("content")))


def request_in(said: object) -> object:
    r"""What was typed, without what an editor put above it.

    >>> request_in("# Context from my IDE setup:\n\n## My request for Codex:\nmend it\n")
    'mend it'
    """
    return said.rpartition(REQUEST)[2].strip() if isinstance(said, str) and REQUEST in said else said


def is_typed(said: object) -> bool:
    """Whether a text is a person's and not one that the program put in its place."""
    return not isinstance(said, str) or bool(said.strip() and not said.lstrip().startswith(NOT_TYPED))


def read_message_folder(inner: Fields) -> str | None:
    """The folder that old rollouts tell in the first message that the program wrote."""
    said = _texts(inner.get("content")) if inner.get("type") == "message" else None
    found = _CWD.search(said) if isinstance(said, str) else None
    return None if found is None else (found[1] or found[2])


def spawned(inner: Fields) -> tuple[str, str] | None:
    """The subagent and the call that started it, where one line says both."""
    said = _of(inner, "sub_agent_activity", "SubAgentActivity")
    if said is not None and get_string(said.get("kind")) in ("started", "Started"):
        agent, call = (
            get_string(said.get("agent_thread_id")),
            get_string(said.get("event_id")) or get_string(said.get("id")),
        )
        return (agent, call) if agent and call else None
    said = _of(inner, "collab_agent_spawn_end", "CollabAgentToolCall")
    if said is None or said.get("tool") not in (None, SPAWN, "spawnAgent", "SpawnAgent"):
        return None
    told = [said.get("new_thread_id"), *items(said.get("receiver_thread_ids"))]
    agents, call = [agent for agent in told if isinstance(agent, str)], call_id(inner)
    return (agents[0], call) if agents and call else None


def _of(inner: Fields, event: str, item: str) -> Fields | None:
    """The event of this name, or the finished item of that one."""
    if inner.get("type") == event:
        return inner
    finished = fields(inner.get("item"))
    return finished if inner.get("type") == ITEM and finished.get("type") == item else None


def _texts(content: object) -> str | None:
    if isinstance(content, str):
        return content
    texts = [get_string(fields(item).get("text")) for item in items(content)]
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
"""The names that this reader knows, of what it keeps and of what it passes over; another is counted in the report."""


def is_known(kind: str, inner: Fields) -> bool:
    """Whether a line that is not kept is of a type that this reader knows."""
    name = name_of(kind, inner)
    if name.startswith(f"{ITEM}/"):
        return name.partition("/")[2] in KNOWN[ITEM]
    return name in KNOWN[kind if kind in KNOWN else "line"] or name in ("session_meta", "turn_context")
