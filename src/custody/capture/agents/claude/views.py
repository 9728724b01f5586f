"""What one kept line of Claude Code's transcripts says: a pure function of the line and of what was put beside it."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from msgspec.structs import replace

from custody.capture import command_facts
from custody.capture.agent_event import call_view, prompt_view, record_views, use_of
from custody.capture.agents.claude.tool_calls import EDITS, add_effects
from custody.capture.command_facts import ToolOutput, pull_request
from custody.capture.shell import Write
from custody.capture.tool_use import use_views
from custody.capture.typed_field import Fields, fields, get_string, items, model, text
from custody.core.ids import AgentName, PromptId, SessionId
from custody.core.views import CallStatus, View
from custody.core.wire.event import CallReference, TranscriptEvent
from custody.core.wire.event_views import about_of
from custody.core.wire.time import ns_from

NOT_TYPED = (
    "<local-command-",
    "<command-",
    "<bash-",
    "<task-notification",
    "<system-reminder",
    "<user-memory-input",
    "<teammate-message",
    "[Request interrupted",
    "Caveat: The messages below",
)
"""How texts begin that stand where a person's do, and were put there by the program."""
RAN = ("Exit code ", "Error: Exit code ")
"""How the words of a command begin that ran and failed; others were never run."""
NOT_EDITED = ("<tool_use_error>", "Error:")
"""How the words of an edit begin that was not made; some versions do not mark it otherwise."""
NOT_READ = ("<tool_use_error>",)
OPENING = frozenset(("Read", "WebFetch"))
"""Tools whose words begin so when nothing was read."""
PR_LINK: Mapping[str, str] = MappingProxyType({"number": "prNumber", "url": "prUrl", "repository": "prRepository"})


def views_of(event: TranscriptEvent) -> tuple[View, ...]:
    """The views that one line gives."""
    return record_views(event, LINES, _model(fields(event.payload)))


def results_of(line: Fields) -> list[Fields]:
    """The results of tools that a line brings."""
    blocks = map(fields, items(fields(line.get("message")).get("content")))
    return [block for block in blocks if block.get("type") == "tool_result"]


def prompt_of(line: Fields) -> str | None:
    """The text of a line that stands where a person's does; None where there is none."""
    content = fields(line.get("message")).get("content")
    if isinstance(content, str):
        return content
    blocks = [fields(block) for block in items(content)]
    if any(block.get("type") == "tool_result" for block in blocks):
        return None
    texts = [get_string(block.get("text")) or "" for block in blocks if block.get("type") == "text"]
    return "\n".join(texts) if texts else None


def is_failed(tool: str, result: Fields) -> bool:
    """Whether a call went wrong, by its result's mark or, where a file was edited or read, by its words."""
    words = _read_first_text(result)
    if tool in OPENING and words.startswith(NOT_READ):
        return True
    return result.get("is_error") is True or (tool in EDITS and words.startswith(NOT_EDITED))


def _read_first_text(result: Fields) -> str:
    content = result.get("content")
    return get_string(content) or next((get_string(fields(block).get("text")) or "" for block in items(content)), "")


def find_shell_writes(given: Fields, result: Fields, response: Fields) -> tuple[Write, ...]:
    """What a shell command certainly wrote, by its own text."""
    words, wrong = get_string(result.get("content")) or "", result.get("is_error") is True
    stopped = response.get("interrupted") is True
    answer = ToolOutput(words, 1 if wrong else None, running=stopped, refused=wrong and not words.startswith(RAN))
    return command_facts.find_written_files(get_string(given.get("command")), answer)


def _assistant(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    """The calls that begin on a line; a parent's file repeats those of a subagent as progress."""
    for block in map(fields, items(fields(line.get("message")).get("content"))):
        call, name = get_string(block.get("id")), get_string(block.get("name"))
        if block.get("type") == "tool_use" and call and name:
            made, about = CallReference(call, name), about_of(block.get("input"))
            yield call_view(event, made, CallStatus.RUNNING, prompt=_prompt_id(line), model=_model(line), about=about)


def _user(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    results = results_of(line)
    if not results:
        yield from _prompt(event, line)
        return
    made = {call.id: call for call in event.calls}
    response = fields(line.get("toolUseResult")) if len(results) == 1 else {}
    for result in results:
        call = get_string(result.get("tool_use_id"))
        if call:
            yield from _result(event, line, result, made.get(call, CallReference(call, "?")), response)


def _result(
    event: TranscriptEvent, line: Fields, result: Fields, call: CallReference, response: Fields
) -> Iterator[View]:
    failed = is_failed(call.name, result)
    yield call_view(event, call, CallStatus.FAILED if failed else CallStatus.OK, prompt=_prompt_id(line))
    use = replace(
        use_of(event, call),
        input=fields(call.input),
        response=response,
        answer=line.get("toolUseResult") if response or len(results_of(line)) == 1 else None,
        words=_read_first_text(result),
        failed=failed,
        writes=find_shell_writes(fields(call.input), result, response) if call.name == "Bash" else (),
    )
    yield from use_views(add_effects(use), event.commits)


def _prompt(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    asked = text(fields(line.get("message")).get("content")) or text(prompt_of(line))
    if asked is None or event.subagent is not None:
        return
    if line.get("isMeta") is True or line.get("isCompactSummary") is True:
        return
    if asked.content is not None and (not asked.content.strip() or asked.content.lstrip().startswith(NOT_TYPED)):
        return
    yield prompt_view(event, _prompt_id(line) or event.id, asked)


def _pull_request(event: TranscriptEvent, line: Fields) -> Iterator[View]:
    agent, session, at_ns = AgentName(event.agent), SessionId(event.session), ns_from(event.at)
    request = {name: line.get(field) for name, field in PR_LINK.items()}
    fact = pull_request(agent, session, at_ns, request)
    if fact is not None:
        yield fact


LINES: Mapping[str, Callable[[TranscriptEvent, Fields], Iterator[View]]] = MappingProxyType(
    {"assistant": _assistant, "user": _user, "progress": _assistant, "pr-link": _pull_request}
)


def _model(line: Fields) -> str | None:
    return model(fields(line.get("message")).get("model"))


def _prompt_id(line: Fields) -> PromptId | None:
    named = get_string(line.get("promptId"))
    return PromptId(named) if named else None
