"""Every verb and the hook in every trap: nothing is executed."""

import json
import os
import subprocess
from io import BytesIO
from pathlib import Path

import pytest

from custody.capture.hook.install import hook_argv, install_hook
from custody.core.errors import CustodyError
from custody.intake.install.doctor import run_doctor_checks
from custody.ledger.records import list_newest_records
from custody.ledger.sessions import list_session_log
from custody.ledger.verify import verify_ledger
from custody.share.export import export_chains
from custody.workspace.workspace import Workspace
from tests.builders.hooks import a_hook_event
from tests.hostile.traps import ENVIRONMENTS, TRAPS, a_trap


@pytest.mark.parametrize("name", [*TRAPS, *ENVIRONMENTS])
def test_no_verb_and_no_hook_triggers_a_trap(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        payload = a_hook_event(event, trap.path, tool_name="Bash", tool_use_id="c", tool_input={"command": "x"})
        done = subprocess.run(
            hook_argv(home, "claude-code"),
            input=json.dumps(payload).encode(),
            capture_output=True,
            env=os.environ,
            check=True,
        )
        assert done.stdout == b""
    verify_ledger(workspace)
    run_doctor_checks(workspace, rebuild=True)
    export_chains(workspace, BytesIO(), "-")
    list_session_log(workspace, limit=5)
    list_newest_records(workspace, limit=5)
    assert not trap.marker.exists(), trap.marker.read_text()
