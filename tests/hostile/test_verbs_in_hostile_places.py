"""Every verb, and the hook itself, over every trap: nothing is executed."""

import json
import os
import subprocess
from io import BytesIO
from pathlib import Path

import pytest

from custody.capture.hook.install import hook_argv, install_hook
from custody.core.errors import CustodyError
from custody.intake.install.doctor import doctor
from custody.ledger.records import records
from custody.ledger.sessions import log
from custody.ledger.verify import verify
from custody.share.export import export
from custody.workspace.workspace import Workspace
from tests.builders.hooks import a_hook_event
from tests.hostile.traps import ENVIRONMENTS, TRAPS, a_trap


@pytest.mark.parametrize("name", [*TRAPS, *ENVIRONMENTS])
def test_no_verb_and_no_hook_springs_a_trap(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = a_trap(name, tmp_path)
    for variable, value in trap.environment.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.chdir(trap.path)
    workspace = Workspace(trap.path)
    try:
        home = workspace.home
    except CustodyError:
        assert trap.refused
        return
    assert home is not None
    install_hook(home)
    for event in ("PreToolUse", "PostToolUse"):
        (trap.path / "made-by-the-agent.py").write_text(event)
        said = a_hook_event(event, trap.path, tool_name="Bash", tool_use_id="c", tool_input={"command": "x"})
        done = subprocess.run(
            hook_argv(home, "claude-code"),
            input=json.dumps(said).encode(),
            capture_output=True,
            env=os.environ,
            check=True,
        )
        assert done.stdout == b""
    verify(workspace)
    doctor(workspace, rebuild=True)
    export(workspace, BytesIO(), "-")
    log(workspace, limit=5)
    records(workspace, limit=5)
    assert not trap.marker.exists(), trap.marker.read_text()
