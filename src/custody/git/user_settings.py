"""Settings of the user's own git configuration; a repository's configuration is never read here."""

import os
import subprocess

from custody.git.environment import find_program, make_open_environment

SECONDS_MAX = 5.0


def read_user_pager() -> str | None:
    """Return ``core.pager`` of the user's or the system's configuration, None if neither sets it."""
    program = find_program(os.environ.get("PATH", os.defpath))
    if program is None:
        return None
    for place in ("--global", "--system"):
        command = [program, "config", place, "--includes", "--get", "core.pager"]
        try:
            ran = subprocess.run(
                command,
                cwd="/",
                env=make_open_environment(os.environ),
                capture_output=True,
                timeout=SECONDS_MAX,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        if ran.returncode == 0:
            return os.fsdecode(ran.stdout).rstrip("\n")
    return None
