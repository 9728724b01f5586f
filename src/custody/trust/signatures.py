"""Whose a commit is, as the commit itself says: an agent that signed it, a bot, else the person named as its author.

A claim, not evidence: it serves where nothing was captured. A name alone makes nobody an agent, for people have names
like theirs; an address, an account, or the line that a tool leaves in a message does.
"""

import re
from collections.abc import Iterator
from types import MappingProxyType

ADDRESSES = MappingProxyType(
    {
        "noreply@anthropic.com": "claude-code",
        "copilot@github.com": "copilot",
        "copilot": "copilot",
        "copilot-swe-agent": "copilot",
        "cursoragent@cursor.com": "cursor",
        "codex@openai.com": "codex",
        "chatgpt-codex-connector": "codex",
        "devin-ai-integration": "devin",
        "gemini-code-assist": "gemini-cli",
        "gemini-cli": "gemini-cli",
        "google-labs-jules": "jules",
        "aider@aider.chat": "aider",
        "noreply@aider.chat": "aider",
        "noreply@opencode.ai": "opencode",
        "amp@ampcode.com": "amp",
    }
)
"""Agents by the addresses, and by the accounts at GitHub, that they sign with."""
TOOLS = MappingProxyType(
    {
        "claude code": "claude-code",
        "github copilot": "copilot",
        "cursor": "cursor",
        "codex": "codex",
        "codex cli": "codex",
        "openai codex": "codex",
        "devin": "devin",
        "gemini cli": "gemini-cli",
        "jules": "jules",
        "aider": "aider",
        "opencode": "opencode",
        "amp": "amp",
    }
)
"""Agents by the names under which they say that they made something."""

_CO_AUTHOR = re.compile(r"^co-authored-by:([^<\n]*)<([^>\n]*)>", re.IGNORECASE | re.MULTILINE)
_GENERATED = re.compile(
    r"^[^\w\n]{0,20}(?:generated|created|written) (?:with|by) \[?([\w .-]{1,40})", re.IGNORECASE | re.MULTILINE
)
_BOT = re.compile(r"\[bot\]$", re.IGNORECASE)
_AT_GITHUB = re.compile(r"(?:\d+\+)?(.+)@users\.noreply\.github\.com", re.IGNORECASE)
_AIDER = re.compile(r"(.*) \(aider\)")


def signed_by(name: str, email: str, message: str) -> tuple[str, str | None]:
    """The agent of a commit and who runs it; of a person's own commit the person, whom nobody runs.

    >>> signed_by("Ana", "ana@example.org", "Fix it\\n\\nCo-Authored-By: Claude <noreply@anthropic.com>")
    ('claude-code', 'Ana')
    >>> signed_by("dependabot[bot]", "1+dependabot[bot]@users.noreply.github.com", "Bump")
    ('dependabot[bot]', None)
    >>> signed_by("Claude Monet", "claude@example.org", "Water lilies")
    ('Claude Monet', None)
    """
    person = name.strip() or email.strip() or "nobody"
    if by_aider := _AIDER.fullmatch(person):
        return "aider", by_aider[1]
    own = _agent_at(email)
    if own is not None or is_bot(person):
        return own or person, None
    return next(((agent, person) for agent in _signatures(message)), (person, None))


def is_bot(name: str) -> bool:
    """Whether a name is a bot's."""
    return bool(_BOT.search(name))


def _agent_at(email: str) -> str | None:
    address = email.strip().lower()
    account = _AT_GITHUB.fullmatch(address)
    return ADDRESSES.get(_BOT.sub("", account[1]) if account else address)


def _signatures(message: str) -> Iterator[str]:
    """The agents that a message is signed with, those of trailers first."""
    for trailer in _CO_AUTHOR.finditer(message):
        agent = _agent_at(trailer[2])
        if agent is not None:
            yield agent
    for line in _GENERATED.finditer(message):
        agent = TOOLS.get(line[1].strip(" .-").lower())
        if agent is not None:
            yield agent
