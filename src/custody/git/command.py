"""The one way to start git: settings, environment and limits come from here, the process itself from ``child``."""

import os
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import GitError
from custody.git.environment import SETTINGS, find_program
from custody.git.failure import Circumstances
from custody.git.process import USUAL, Child, ProcessLimits, ProcessOrder

NEEDS = "install git 2.34 or newer and see that it is on PATH"


def git_program(environment: Mapping[str, str]) -> str:
    """The git on the PATH of ``environment``; none is an error."""
    program = find_program(environment.get("PATH", os.defpath))
    if program is None:
        raise GitError("git is not installed", hint=NEEDS)
    return program


@dataclass(frozen=True, slots=True)
class Git:
    """How git is started: in which folder, with which environment, within which limits.

    ``common_dir`` is known once a repository is; a failure then says whether the clone is partial or shallow.
    """

    folder: Path
    environment: Mapping[str, str]
    common_dir: Path | None = None
    limits: ProcessLimits = USUAL
    settings: tuple[str, ...] = ()
    """What is set besides, for a repository of our own."""
    always: tuple[str, ...] = SETTINGS
    """What is always set; only what reaches a network has others."""

    def start(self, *arguments: str | bytes, feed: Iterable[bytes] | None = None) -> Child:
        """Start ``git <arguments>`` now; ``feed`` goes to its standard input, which is closed when there is none."""
        return Child(self._order(arguments), feed)

    def connect(self, *arguments: str | bytes) -> Child:
        """Start a ``git <arguments>`` that answers questions until it is closed."""
        return Child(self._order(arguments), (), hang_up=False)

    def run(self, *arguments: str | bytes, fine: Collection[int] = (0,)) -> bytes:
        """Everything that ``git <arguments>`` says; an exit status that is not ``fine`` raises git's own words."""
        with Child(self._order(arguments, fine), None) as child:
            return b"".join(child.chunks())

    def _order(self, arguments: tuple[str | bytes, ...], fine: Collection[int] = (0,)) -> ProcessOrder:
        return ProcessOrder(
            verb=os.fsdecode(arguments[0]),
            command=(git_program(self.environment), *self.always, *self.settings, *arguments),
            folder=self.folder,
            environment=self.environment,
            limits=self.limits,
            circumstances=self.circumstances,
            fine=fine,
        )

    def circumstances(self) -> Circumstances:
        """What about this clone may explain that an object is not there; looked up only when git has failed."""
        if self.common_dir is None:
            return Circumstances()
        return Circumstances(
            partial=any((self.common_dir / "objects" / "pack").glob("*.promisor")),
            shallow=(self.common_dir / "shallow").is_file(),
        )
