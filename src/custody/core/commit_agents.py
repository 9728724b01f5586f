"""Agents that a commit's author and message name: one table of signatures for attribution and trust.

Anyone can write a commit, so a name is a claim. A personal name alone never makes an agent, since people have similar
names. An email address, a GitHub account, or a line that a tool adds to messages does.
"""

import re
from collections.abc import Iterator
from types import MappingProxyType

from msgspec import Struct

from custody.core.patterns import lazy_pattern

ACCOUNTS = MappingProxyType(
    {
        "noreply@anthropic.com": "claude-code",
        "claude[bot]": "claude-code",
        "copilot@github.com": "copilot",
        "copilot": "copilot",
        "copilot-swe-agent": "copilot",
        "cursoragent@cursor.com": "cursor",
        "cursor[bot]": "cursor",
        "codex@openai.com": "codex",
        "noreply@openai.com": "codex",
        "chatgpt-codex-connector": "codex",
        "devin-ai-integration": "devin",
        "gemini-code-assist": "gemini",
        "gemini-cli": "gemini",
        "google-labs-jules": "jules",
        "aider@aider.chat": "aider",
        "noreply@aider.chat": "aider",
        "noreply@opencode.ai": "opencode",
        "opencode-agent": "opencode",
        "amp@ampcode.com": "amp",
        "openhands@all-hands.dev": "openhands",
        "openhands-agent": "openhands",
        "qwen-coder@alibabacloud.com": "qwen-code",
        "agent@warp.dev": "warp",
        "crush@charm.land": "crush",
        "help@firebender.com": "firebender",
        "factory-droid": "factory-droid",
        "junie@jetbrains.com": "junie",
    }
)
"""Agents by their email addresses and GitHub accounts; ``[bot]`` where a person may have the account without it."""
NAMES = MappingProxyType(
    {
        "claude": "claude-code",
        "claude code": "claude-code",
        "github copilot": "copilot",
        "cursor": "cursor",
        "codex": "codex",
        "codex cli": "codex",
        "openai codex": "codex",
        "devin": "devin",
        "gemini": "gemini",
        "gemini cli": "gemini",
        "jules": "jules",
        "aider": "aider",
        "opencode": "opencode",
        "amp": "amp",
        "qwen-coder": "qwen-code",
        "crush": "crush",
        "openhands": "openhands",
    }
)
"""Agents by the names that their tools write; other names stay as they are."""
UNNAMED = "unknown"
"""The agent of a checkpoint that names none."""
MESSAGE_CHARACTERS_MAX = 65_536
"""Maximum length of a message that is searched; trailers are at its end."""
ASSISTED_BY = "Assisted-by"
"""The trailer that discloses an agent and its model: ``Assisted-by: NAME:MODEL``."""
NAMED_MAX = 20
"""Maximum agents of one commit."""

_CO_AUTHOR = lazy_pattern(r"^co-authored-by:([^<\n]{0,200})<([^>\n]{0,200})>", re.IGNORECASE)
_GENERATED = lazy_pattern(
    r"^([^\w\n]{0,20})(?:generated|created|written) (?:with|by) \[?([\w .-]{1,40})(?:\]\((https://[^\s)]{1,300})\))?",
    re.IGNORECASE,
)
_ASSISTED = lazy_pattern(
    r"^assisted-by:[ \t]*([\w .+/-]{1,60}?)[ \t]*(?::[ \t]*([\w .+/@-]{1,100}?)[ \t]*)?(?:[<\[].*)?$", re.IGNORECASE
)
_SESSION = lazy_pattern(r"^(claude-session|agent-logs-url):[ \t]*(https://[^\s<>]{1,300})[ \t]*$", re.IGNORECASE)
_CHECKPOINT = lazy_pattern(r"^entire-checkpoint:[ \t]*([0-9a-z]{12,26})[ \t]*$", re.IGNORECASE)
_BOT = lazy_pattern(r"\[bot\]$", re.IGNORECASE)
_AT_GITHUB = lazy_pattern(r"(?:\d+\+)?(.+)@users\.noreply\.github\.com", re.IGNORECASE)
_AIDER = lazy_pattern(r"(.*) \(aider\)")
_MODEL = lazy_pattern(r"[\w.+-]+ [\w .+()-]*\d[\w .+()-]*")
_ROBOT = "\N{ROBOT FACE}"
_GIVEN_NAMES = frozenset(("claude", "gemini"))
"""Names that people have too: a line "written by" one of them names an agent only with a robot and a link."""
_SESSION_TRAILERS = MappingProxyType(
    {"claude-session": ("claude-code", "Claude-Session"), "agent-logs-url": ("copilot", "Agent-Logs-Url")}
)


class NamedAgent(Struct, frozen=True):
    """An agent that a commit names; ``by`` is the part of the commit that does."""

    agent: str
    by: str
    model: str | None = None
    session: str | None = None
    url: str | None = None
    checkpoint: str | None = None


def is_bot_committer(name: str) -> bool:
    """Return whether a name is a bot's."""
    return bool(_BOT.search(name.lower()))


def agent_from_account(email: str) -> str | None:
    """Return the agent of an email address or a GitHub account.

    >>> agent_from_account("158243242+devin-ai-integration[bot]@users.noreply.github.com")
    'devin'
    >>> agent_from_account("claude@users.noreply.github.com") is None
    True
    """
    address = email.strip().lower()
    account = _AT_GITHUB.fullmatch(address)
    name = account[1] if account else address
    return ACCOUNTS.get(name) or ACCOUNTS.get(_BOT.sub("", name))


def agent_from_author(name: str, email: str) -> str | None:
    """Return the agent that a commit's author is, by account or by aider's mark after a person's name."""
    return "aider" if _AIDER.fullmatch(name.strip()) else agent_from_account(email)


def operator_from_author(name: str) -> str:
    """Return the person in an author's name, without aider's mark.

    >>> operator_from_author("Ana (aider)")
    'Ana'
    """
    by_aider = _AIDER.fullmatch(name.strip())
    return by_aider[1] if by_aider else name.strip()


def list_co_authors(message: str) -> list[str]:
    """Return the names and email addresses of co-authors: a squashed change names its other authors there only.

    >>> list_co_authors("Fix it\\n\\nCo-authored-by: Ana Ruiz <ana@example.org>")
    ['Ana Ruiz', 'ana@example.org']
    """
    matches = (_CO_AUTHOR.match(line) for line in message.splitlines())
    return [text for match in matches if match for part in match.groups() if (text := part.strip())]


def list_named_agents(name: str, email: str, message: str) -> list[NamedAgent]:
    """Return the agents that a commit names, each once with all that the commit says of it; its author first.

    >>> message = "Fix\\n\\nCo-Authored-By: Claude Opus 4.6 <noreply@anthropic.com>\\nAssisted-by: Foo:bar-1\\n"
    >>> [(named.agent, named.model) for named in list_named_agents("Ana", "ana@example.org", message)]
    [('claude-code', 'Claude Opus 4.6'), ('foo', 'bar-1')]
    """
    merged: dict[str, NamedAgent] = {}
    for named in _find_named_agents(name, email, message):
        if named.agent not in merged and len(merged) >= NAMED_MAX:
            break
        merged[named.agent] = _merge_named_agents(merged.get(named.agent, named), named)
    unnamed = merged.pop(UNNAMED, None)
    if unnamed is None:
        return list(merged.values())
    # A checkpoint is of the agent that the commit names, if it names any.
    agents = list(merged.values()) or [unnamed]
    return [_merge_named_agents(agents[0], unnamed), *agents[1:]]


def list_assisting_agents(message: str) -> list[NamedAgent]:
    """Return the agents that a message names in ``Assisted-by`` trailers, in order.

    >>> [(named.agent, named.model) for named in list_assisting_agents("Fix\\n\\nAssisted-by: Claude:opus-4\\n")]
    [('claude-code', 'opus-4')]
    """
    lines = message[-MESSAGE_CHARACTERS_MAX:].splitlines()
    return [named for line in lines if (named := _assisting_agent_from_line(line)) is not None]


def _assisting_agent_from_line(line: str) -> NamedAgent | None:
    assisted = _ASSISTED.match(line)
    if assisted is None:
        return None
    tool = assisted[1].lower()
    return NamedAgent(NAMES.get(tool, tool), ASSISTED_BY, assisted[2])


def _merge_named_agents(first: NamedAgent, second: NamedAgent) -> NamedAgent:
    return NamedAgent(
        first.agent,
        first.by,
        first.model or second.model,
        first.session or second.session,
        first.url or second.url,
        first.checkpoint or second.checkpoint,
    )


def _find_named_agents(name: str, email: str, message: str) -> Iterator[NamedAgent]:
    author = agent_from_author(name, email)
    if author is not None:
        yield NamedAgent(author, "its author")
    generated = list[NamedAgent]()
    for line in message[-MESSAGE_CHARACTERS_MAX:].splitlines():
        if co_author := _CO_AUTHOR.match(line):
            agent = agent_from_account(co_author[2])
            if agent is not None:
                yield NamedAgent(agent, "Co-authored-by", _model_from_name(co_author[1]))
        elif assisting := _assisting_agent_from_line(line):
            yield assisting
        elif session := _SESSION.match(line):
            agent, by = _SESSION_TRAILERS[session[1].lower()]
            yield NamedAgent(agent, by, session=session[2].rstrip("/").rpartition("/")[2], url=session[2])
        elif checkpoint := _CHECKPOINT.match(line):
            yield NamedAgent(UNNAMED, "Entire-Checkpoint", checkpoint=checkpoint[1])
        elif (made := _GENERATED.match(line)) and (tool := made[2].strip(" .-").lower()):
            is_linked = _ROBOT in made[1] and made[3] is not None
            if is_linked or (tool in NAMES and tool not in _GIVEN_NAMES):
                generated.append(NamedAgent(NAMES.get(tool, tool), "Generated with"))
    yield from generated


def _model_from_name(name: str) -> str | None:
    """Return the name of a co-author if it is a model's: words with a version."""
    return name.strip() if _MODEL.fullmatch(name.strip()) else None
