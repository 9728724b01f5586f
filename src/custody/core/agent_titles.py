"""Display names of agents."""

from collections.abc import Mapping
from types import MappingProxyType

AGENT_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "claude-code": "Claude Code",
        "cursor": "Cursor",
        "codex": "Codex CLI",
        "gemini": "Gemini CLI",
        "opencode": "opencode",
        "copilot": "GitHub Copilot (VS Code and CLI)",
        "cline": "Cline",
        "roo-code": "Roo Code",
        "aider": "Aider",
    }
)


def get_agent_title(agent: str) -> str:
    """Return the display name of an agent, or its name.

    >>> get_agent_title("codex"), get_agent_title("mine")
    ('Codex CLI', 'mine')
    """
    return AGENT_TITLES.get(agent, agent)
