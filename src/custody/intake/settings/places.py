"""Where the agents keep their things on this machine, and which of them are here."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import InputError
from custody.intake.settings import toml_text
from custody.intake.settings.agent_table import Agent, ProgramVersion
from custody.intake.settings.files import read_optional_file
from custody.intake.settings.jsonc import JsoncError

_VERSION = re.compile(r"\d+(?:\.\d+){1,3}")
_PACKAGE_VERSION = re.compile(rb'"version"\s*:\s*"(\d+(?:\.\d+){1,3})')


def state_folder(environment: Mapping[str, str], home: Path) -> Path:
    """Where the hook of the user's level and its notes live: ``custody`` in the folder for programs' state."""
    named = environment.get("XDG_STATE_HOME", "")
    return (Path(named) if os.path.isabs(named) else home / ".local" / "state") / "custody"


@dataclass(frozen=True, slots=True)
class SettingsPlaces:
    """The folders to look in: a work tree (or none), the user's home, and what the environment says."""

    work_tree: Path | None
    home: Path
    environment: Mapping[str, str]

    def is_here(self, agent: Agent) -> bool:
        """Whether there is a sign of the agent: its folder in the work tree or the home, or its program on PATH."""
        folders = [self.user_folder(agent), *([self.work_tree / agent.folder] if self.work_tree else [])]
        folders += [self.home / sign for sign in agent.signs]
        return any(folder.is_dir() for folder in folders) or self._program(agent) is not None

    def project_file(self, agent: Agent) -> Path | None:
        """The agent's settings for this work tree alone; None if it has none."""
        return None if self.work_tree is None or agent.project is None else self.work_tree / agent.project

    def user_folder(self, agent: Agent) -> Path:
        """The agent's folder in the user's home, or where the agent's own variable says it is."""
        named = self.environment.get(agent.variable or "", "")
        return Path(named) / agent.moved if os.path.isabs(named) else self.home / (agent.in_home or agent.folder)

    def user_files(self, agent: Agent) -> list[Path]:
        """All places where the agent looks for this user's settings."""
        return [self.user_folder(agent) / name for name in agent.user]

    def all_files(self, agent: Agent) -> list[Path]:
        """Every file that says something about the agent's hooks, what counts most first."""
        project = self.project_file(agent)
        beside = [] if project is None else [project.parent / name for name in agent.more]
        own = self.user_files(agent)
        known = (*([] if project is None else [project]), *beside, *own)
        return list(dict.fromkeys((*known, *(self.user_folder(agent) / name for name in agent.more))))

    def user_file(self, agent: Agent) -> Path:
        """The agent's settings for this user: of several, the one that has hooks already, else the first."""
        first, *others = self.user_files(agent)
        if not first.exists():
            return next((other for other in others if _has_hooks(other)), first)
        return first

    def version(self, agent: Agent) -> ProgramVersion | None:
        """The version of the agent's program, as its place or its package tells; None when that is not to be seen."""
        program = self._program(agent)
        if program is None:
            return None
        real = Path(os.path.realpath(program))
        for part in (real.name, real.parent.name):
            if _VERSION.fullmatch(part):
                return tuple(map(int, part.split(".")))
        said = _PACKAGE_VERSION.search(_read_lenient(real.parent / "package.json"))
        return tuple(map(int, said[1].split(b"."))) if said else None

    def _program(self, agent: Agent) -> Path | None:
        folders = self.environment.get("PATH", os.defpath).split(os.pathsep)
        # A relative entry could be a folder of the repository: it says nothing about this machine.
        candidates = (Path(folder) / name for folder in folders if os.path.isabs(folder) for name in agent.programs)
        return next((path for path in candidates if path.is_file() and os.access(path, os.X_OK)), None)


def _has_hooks(path: Path) -> bool:
    data = read_optional_file(path)
    if data is None:
        return False
    try:
        hooks = toml_text.parse(data).get("hooks")
    except JsoncError as error:
        raise InputError(
            f"cannot read '{path}': {error}", hint="nothing was changed; mend it, or choose other agents with --agent"
        ) from error
    return isinstance(hooks, dict) and any(isinstance(groups, list) for groups in hooks.values())


def _read_lenient(path: Path) -> bytes:
    try:
        return read_optional_file(path) or b""
    except (InputError, OSError):
        return b""  # it would only have told us a version
