"""The supported agents: where their settings are, which of their events we use, and the shape of an entry.

Sources, to be checked again when an agent changes:

* Claude Code 2.1: hooks reference and change log. An event that a version before 2.1.101 did not know made it ignore
  the whole file ("an unrecognized hook event name … no longer causes the entire file to be ignored"), so ``since`` says
  from which version on an event may stand there. Matchers: ``*`` for tools, none elsewhere, which stands for all.
* Cursor 1.7 and later: hooks reference, ``hooks.json`` version 1. An event that it does not know is passed over; an
  entry is a command by default; no matcher stands for all.
* Codex CLI, sources of August 2026 (``codex-rs/config/src/hook_config.rs``, ``codex-rs/hooks/src/engine``):
  ``hooks.json`` may have ``hooks`` and ``description`` and nothing else; ``[[hooks.Event]]`` in ``config.toml`` has the
  same shape; both at once are read but warned about; a new hook runs once the user has reviewed it.
* Gemini CLI, ``docs/hooks/reference.md`` of August 2026: ``*`` and no matcher stand for all; comments are allowed.
* opencode has no hooks but plugins: it loads ``{plugin,plugins}/*.{ts,js}`` of its folders (``config/plugin.ts`` at
  d545d8fb, 1.18.18 of August 2026; only ``plugin`` before December 2025) and calls what they export; opencode 2 loads
  the same files (``config/plugin/source.ts``, 2.0.22 of October 2026), but wants an object. Ours is ``opencode.js``.
* Copilot: VS Code and Copilot CLI both run every file of ``.github/hooks`` and of ``~/.copilot/hooks``, so that one
  entry is for both (``docs/agent-customization/hooks.md`` of microsoft/vscode-docs, June 2026; ``hooks-reference.md``
  of github/docs, autumn 2026). With names in this spelling the CLI (1.0.21 and later) tells its events in VS Code's
  shape.
  An event that one of them does not know is passed over; no matcher stands for all.

What turns hooks off: the hooks references of Claude Code, Codex, Gemini CLI and Copilot of autumn 2026.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from msgspec import Struct, field

from custody.core.agent_titles import AGENT_TITLES
from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern
from custody.intake.settings import toml_text
from custody.intake.settings.files import read_optional_settings
from custody.intake.settings.jsonc import JsoncError, JsoncValue

ProgramVersion = tuple[int, ...]

ALL = "*"

MARK = "/custody/hook/record.py"
"""An entry whose command names this file is ours, wherever the folder before it is or was."""

UNKNOWN_EVENTS_ARE_FINE: ProgramVersion = (2, 1, 101)
"""From this Claude Code on, an event that it does not know yet does no harm."""


class AgentEvent(Struct, frozen=True):
    """One event of an agent: its name, its matcher (None: the key is left out), and since when it exists."""

    name: str
    matcher: str | None = None
    since: ProgramVersion = ()


class Agent(Struct, frozen=True, kw_only=True):
    """One agent; ``project`` and ``user`` are its settings below the work tree and below its folder in the home.

    ``grouped`` entries are ``{"matcher", "hooks": [{"type", "command"}]}``, others ``{"command"}``, with a
    ``type`` if they are ``typed``. ``fixed`` are other keys that the file needs, ``clues`` are more folders in the home
    that show that the agent is installed. ``variable`` is an environment variable that moves the folder, ``moved`` the
    path below its value, ``in_home`` the folder in the home if that has another name. ``plugin`` is the program that an
    agent without settings for hooks loads. ``off`` are settings that disable all hooks, by their keys with dots between
    levels; they may also be in ``more``, files next to its settings in the work tree or in its folder in the home.
    """

    name: str
    title: str
    folder: str
    project: str | None
    user: tuple[str, ...]
    programs: tuple[str, ...]
    events: tuple[AgentEvent, ...]
    variable: str | None = None
    moved: str = ""
    in_home: str | None = None
    plugin: str | None = None
    grouped: bool = True
    typed: bool = False
    clues: tuple[str, ...] = ()
    fixed: Mapping[str, JsoncValue] = field(default_factory=dict)
    note: str | None = None
    off: Mapping[str, JsoncValue] = field(default_factory=dict)
    more: tuple[str, ...] = ()

    def entry(self, event: AgentEvent, command: str) -> dict[str, JsoncValue]:
        """Return the entry of ``event`` that runs ``command``."""
        if not self.grouped:
            return {"type": "command", "command": command} if self.typed else {"command": command}
        matcher: dict[str, JsoncValue] = {} if event.matcher is None else {"matcher": event.matcher}
        return matcher | {"hooks": [{"type": "command", "command": command}]}

    def events_for(self, version: ProgramVersion | None) -> tuple[AgentEvent, ...]:
        """Return the events that this version supports; all of them if the version is unknown."""
        if version is None or version >= UNKNOWN_EVENTS_ARE_FINE:
            return self.events
        return tuple(event for event in self.events if event.since <= version)


def _make_agent_hook_events(
    names: str, *, tools: str = "", since: Mapping[str, ProgramVersion] | None = None
) -> tuple[AgentEvent, ...]:
    with_matcher = tools.split()
    dates = since or {}
    return tuple(AgentEvent(name, ALL if name in with_matcher else None, dates.get(name, ())) for name in names.split())


_CLAUDE_CODE = Agent(
    name="claude-code",
    title=AGENT_TITLES["claude-code"],
    folder=".claude",
    project=".claude/settings.local.json",
    user=("settings.json",),
    programs=("claude",),
    variable="CLAUDE_CONFIG_DIR",
    events=_make_agent_hook_events(
        "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure SubagentStart SubagentStop"
        " PostModelSwitch Stop SessionEnd",
        tools="PreToolUse PostToolUse PostToolUseFailure",
        since={
            "SessionEnd": (1, 0, 85),
            "SubagentStart": (2, 0, 43),
            "PostToolUseFailure": (2, 1, 50),  # the oldest that we have seen it reported for
            "PostModelSwitch": (2, 1, 251),
        },
    ),
    off=MappingProxyType({"disableAllHooks": True}),
    more=("settings.json",),
)

_CURSOR = Agent(
    name="cursor",
    title=AGENT_TITLES["cursor"],
    folder=".cursor",
    project=".cursor/hooks.json",
    user=("hooks.json",),
    programs=("cursor", "cursor-agent"),
    clues=(".config/Cursor", "Library/Application Support/Cursor", ".cursor-server"),
    grouped=False,
    fixed=MappingProxyType({"version": 1}),
    events=_make_agent_hook_events(
        "sessionStart beforeSubmitPrompt preToolUse postToolUse postToolUseFailure beforeShellExecution"
        " afterShellExecution beforeReadFile afterFileEdit afterTabFileEdit subagentStart subagentStop stop sessionEnd"
    ),
)

_CODEX = Agent(
    name="codex",
    title=AGENT_TITLES["codex"],
    folder=".codex",
    project=None,
    user=("hooks.json", "config.toml"),
    programs=("codex",),
    variable="CODEX_HOME",
    events=_make_agent_hook_events(
        "SessionStart UserPromptSubmit PreToolUse PostToolUse SubagentStart SubagentStop Stop",
        tools="PreToolUse PostToolUse",
    ),
    note="Codex runs a new hook only after you have reviewed it: it asks at its next start, or use /hooks",
    off=MappingProxyType({"features.hooks": False, "features.codex_hooks": False}),
)

_GEMINI = Agent(
    name="gemini",
    title=AGENT_TITLES["gemini"],
    folder=".gemini",
    project=".gemini/settings.json",
    user=("settings.json",),
    programs=("gemini",),
    variable="GEMINI_CLI_HOME",
    moved=".gemini",
    events=_make_agent_hook_events(
        "SessionStart BeforeAgent BeforeTool AfterTool AfterAgent SessionEnd",
        tools="BeforeTool AfterTool",
    ),
    off=MappingProxyType({"hooksConfig.enabled": False}),
)

_OPENCODE = Agent(
    name="opencode",
    title=AGENT_TITLES["opencode"],
    folder=".opencode",
    project=".opencode/plugin/custody.js",
    user=("plugin/custody.js",),
    programs=("opencode",),
    variable="XDG_CONFIG_HOME",
    moved="opencode",
    in_home=".config/opencode",
    clues=(".local/share/opencode",),
    plugin="opencode.js",
    events=_make_agent_hook_events(
        "session.created chat.message tool.execute.before tool.execute.after message.updated message.part.updated"
    ),
    note="opencode loads a new plugin at its next start",
)

_VSCODE_USERS = (
    *(f".config/{program}/User" for program in ("Code", "Code - Insiders", "VSCodium")),
    *(f"Library/Application Support/{program}/User" for program in ("Code", "Code - Insiders", "VSCodium")),
    *(f"{server}/data/User" for server in (".vscode-server", ".vscode-server-insiders", ".vscode-remote")),
)
"""The user folders of VS Code and its variants, local and remote."""

_COPILOT = Agent(
    name="copilot",
    title=AGENT_TITLES["copilot"],
    folder=".copilot",
    project=".github/hooks/custody.json",
    user=("hooks/custody.json",),
    programs=("copilot",),
    variable="COPILOT_HOME",
    grouped=False,
    typed=True,
    clues=(".config/github-copilot", *(f"{user}/globalStorage/github.copilot-chat" for user in _VSCODE_USERS)),
    fixed=MappingProxyType({"version": 1}),
    events=_make_agent_hook_events(
        "SessionStart UserPromptSubmit PreToolUse PostToolUse PostToolUseFailure SubagentStart SubagentStop Stop"
        " SessionEnd"
    ),
    note="Copilot runs a repository's hooks only in folders that you trust",
    off=MappingProxyType({"disableAllHooks": True}),
    more=("settings.json", "config.json"),
)

AGENTS: Mapping[str, Agent] = MappingProxyType(
    {agent.name: agent for agent in (_CLAUDE_CODE, _CURSOR, _CODEX, _GEMINI, _OPENCODE, _COPILOT)}
)


class TranscriptAgent(Struct, frozen=True):
    """An agent without a hook of custody: only its sessions on disk are read.

    ``clues`` are folders in the home, ``files`` are files in the work tree, that show that the agent is used.
    """

    name: str
    title: str
    clues: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


def _list_extension_clues(extension: str) -> tuple[str, ...]:
    return tuple(f"{user}/globalStorage/{extension}" for user in _VSCODE_USERS)


_CLINE = TranscriptAgent("cline", AGENT_TITLES["cline"], (*_list_extension_clues("saoudrizwan.claude-dev"), ".cline"))
_ROO_CODE = TranscriptAgent("roo-code", AGENT_TITLES["roo-code"], _list_extension_clues("rooveterinaryinc.roo-cline"))
_AIDER = TranscriptAgent("aider", AGENT_TITLES["aider"], files=(".aider.chat.history.md",))

TRANSCRIPT_AGENTS: Mapping[str, TranscriptAgent] = MappingProxyType(
    {agent.name: agent for agent in (_CLINE, _ROO_CODE, _AIDER)}
)


_VERSION = lazy_pattern(r"\d+(?:\.\d+){1,3}")
_PACKAGE_VERSION = lazy_pattern(rb'"version"\s*:\s*"(\d+(?:\.\d+){1,3})')


def user_state_folder(environment: Mapping[str, str], home: Path) -> Path:
    """Return the folder of the user-level hook and its manifest: ``custody`` in the XDG state folder."""
    configured = environment.get("XDG_STATE_HOME", "")
    return (Path(configured) if os.path.isabs(configured) else home / ".local" / "state") / "custody"


class SettingsPlaces(Struct, frozen=True):
    """Where settings can be: a work tree (or none), the user's home, and the environment."""

    work_tree: Path | None
    home: Path
    environment: Mapping[str, str]

    def is_here(self, agent: Agent) -> bool:
        """Return whether the agent is installed: its folder in the work tree or the home, or its program on PATH."""
        folders = [self.user_folder(agent), *([self.work_tree / agent.folder] if self.work_tree else [])]
        folders += [self.home / clue for clue in agent.clues]
        return any(folder.is_dir() for folder in folders) or self._program(agent) is not None

    def has_transcript_agent(self, agent: TranscriptAgent) -> bool:
        """Return whether an agent without a hook is used: its folder in the home, or its file in the work tree."""
        files = [self.work_tree / name for name in agent.files] if self.work_tree else []
        return any((self.home / clue).is_dir() for clue in agent.clues) or any(file.is_file() for file in files)

    def project_file(self, agent: Agent) -> Path | None:
        """Return the agent's settings for this work tree alone; None if it has none."""
        return None if self.work_tree is None or agent.project is None else self.work_tree / agent.project

    def user_folder(self, agent: Agent) -> Path:
        """Return the agent's folder in the user's home, or the one that the agent's variable names."""
        configured = self.environment.get(agent.variable or "", "")
        if os.path.isabs(configured):
            return Path(configured) / agent.moved
        return self.home / (agent.in_home or agent.folder)

    def user_files(self, agent: Agent) -> list[Path]:
        """Return every file that the agent reads for this user's settings."""
        return [self.user_folder(agent) / name for name in agent.user]

    def list_files(self, agent: Agent) -> list[Path]:
        """Return every file with settings for the agent's hooks, the strongest first."""
        project = self.project_file(agent)
        beside = [] if project is None else [project.parent / name for name in agent.more]
        own = self.user_files(agent)
        known = (*([] if project is None else [project]), *beside, *own)
        return list(dict.fromkeys((*known, *(self.user_folder(agent) / name for name in agent.more))))

    def user_file(self, agent: Agent) -> Path:
        """Return the agent's settings for this user: of several, the one that has hooks already, else the first."""
        first, *others = self.user_files(agent)
        if not first.exists():
            return next((other for other in others if _has_toml_hooks(other)), first)
        return first

    def version(self, agent: Agent) -> ProgramVersion | None:
        """Return the version of the agent's program from its path or its package; None if neither has it."""
        program = self._program(agent)
        if program is None:
            return None
        real = Path(os.path.realpath(program))
        for part in (real.name, real.parent.name):
            if _VERSION.fullmatch(part):
                return tuple(map(int, part.split(".")))
        version = _PACKAGE_VERSION.search(_read_settings_leniently(real.parent / "package.json"))
        return tuple(map(int, version[1].split(b"."))) if version else None

    def _program(self, agent: Agent) -> Path | None:
        folders = self.environment.get("PATH", os.defpath).split(os.pathsep)
        # A relative entry could be a folder of the repository, so it is not used.
        candidates = (Path(folder) / name for folder in folders if os.path.isabs(folder) for name in agent.programs)
        return next((path for path in candidates if path.is_file() and os.access(path, os.X_OK)), None)


def _has_toml_hooks(path: Path) -> bool:
    data = read_optional_settings(path)
    if data is None:
        return False
    try:
        hooks = toml_text.parse_toml_settings(data).get("hooks")
    except JsoncError as error:
        raise InputError(
            f"cannot read '{path}': {error}", hint="nothing was changed; fix it, or choose other agents with --agent"
        ) from error
    return isinstance(hooks, dict) and any(isinstance(groups, list) for groups in hooks.values())


def _read_settings_leniently(path: Path) -> bytes:
    try:
        return read_optional_settings(path) or b""
    except (InputError, OSError):
        return b""  # only the version is missing then


TITLES = MappingProxyType({agent.name: agent.title for agent in AGENTS.values()})
"""Display names of the agents that can be set up."""
TRANSCRIPT_TITLES = MappingProxyType({agent.name: agent.title for agent in TRANSCRIPT_AGENTS.values()})
"""Display names of the agents with sessions on disk and no hook."""
