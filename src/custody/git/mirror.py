"""A bare copy of somebody's repository in a folder of our own, brought up to date from a remote.

The folder is made here, so its configuration is ours; the remote is reached as ``exchange`` in surroundings.py says.
What is asked for are names of references that the caller made, never one that a remote's users chose.
"""

import base64
import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from custody.core.errors import WorldError
from custody.git.command import Git, git_program
from custody.git.environment import (
    EXCHANGE_SETTINGS,
    OTHER_SIDE,
    exchange_environment,
    sealed_file,
)
from custody.git.process import USUAL, ProcessLimits
from custody.git.remotes import RemoteUrl

BRANCHES = "+refs/heads/*:refs/heads/*"
PULLS = "+refs/pull/*/head:refs/pull/*/head"
PULL = re.compile(r"\+refs/pull/([1-9][0-9]{0,9})/head:refs/pull/\1/head")


@dataclass(frozen=True, slots=True)
class Mirror:
    """A bare copy in ``folder``; ``token`` is what an https remote is shown."""

    folder: Path
    token: str | None = None
    object_format: str = "sha1"
    limits: ProcessLimits = USUAL

    def fetch(self, address: RemoteUrl, wanted: Sequence[str]) -> None:
        """Bring ``wanted`` here: branches, all pull requests, or single ones (see ``pull_of``)."""
        assert all(text in (BRANCHES, PULLS) or PULL.fullmatch(text) for text in wanted), "names of our own"
        self._made()
        program = git_program(os.environ)
        served = (f"--upload-pack={shlex.join((program, *OTHER_SIDE, 'upload-pack'))}",) if address.local else ()
        environment = exchange_environment(os.environ, self.folder, self.folder / "objects")
        git = Git(
            self.folder,
            environment | self._shown(address),
            limits=self.limits,
            # Old repositories hold objects that a check refuses. Nothing here is ever checked out.
            settings=("-c", "fetch.fsckObjects=false"),
            always=EXCHANGE_SETTINGS,
        )
        # A branch that was deleted stays: what was judged can be judged again.
        options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--update-head-ok")
        git.run("fetch", *options, *served, "--", address.url, *wanted)

    def _shown(self, address: RemoteUrl) -> dict[str, str]:
        """The token for this one host, by the environment: a command line can be seen by others."""
        if self.token is None or not address.url.startswith("https://"):
            return {}
        basic = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        return {
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": f"http.{address.url}.extraHeader",
            "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
            # Where a redirect leads, git would show the token as well.
            "GIT_CONFIG_KEY_1": "http.followRedirects",
            "GIT_CONFIG_VALUE_1": "false",
        }

    def _made(self) -> None:
        try:
            for part in ("HEAD", "config", "refs/.keep", "objects/.keep"):
                path = self.folder / part
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not path.exists():
                    pattern = sealed_file(self.object_format, part)
                    path.write_bytes(pattern.read_bytes() if pattern.exists() else b"")
        except OSError as error:
            raise WorldError(f"cannot make a mirror in '{self.folder}': {error.strerror}") from error


def pull_of(number: int) -> str:
    """What brings the head of one pull request.

    >>> pull_of(3)
    '+refs/pull/3/head:refs/pull/3/head'
    """
    return f"+refs/pull/{int(number)}/head:refs/pull/{int(number)}/head"
