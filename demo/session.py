"""A scripted session of an agent, event by event, in the shape in which Claude Code tells its hooks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

SESSION = "7d5a1c2e-0b4f-4c7e-9a61-2f3e4d5c6b7a"
SECRET = "ghp_" + "Zq8Lw3Rt6Yb1Nv5Mx0Kd" + "9Hs2Fp7Jc4Ug8Qe"
"""Made up for this story; it must not be found anywhere in the store."""
FUNCTIONS = 24


def events(repository: Path) -> Iterator[dict[str, Any]]:
    """A hundred events: the session opens, then a prompt, a look at the file, an edit and a test take turns."""
    yield _event("SessionStart", repository, source="startup", model="demo-model-1")
    source = (repository / "src" / "app.py").read_text()
    for n in range(1, FUNCTIONS + 1):
        yield _event("UserPromptSubmit", repository, prompt=f"add function number {n}", prompt_id=f"p{n}")
        yield _call(repository, n, "Read", {"file_path": _path(repository)}, {"file": _file(repository, source)})
        token = f"  # TOKEN={SECRET}" if n == FUNCTIONS // 2 else ""
        added = f"{source}def f{n}(): return {n}{token}\n"
        change = {"filePath": _path(repository), "oldString": source, "newString": added, "originalFile": source}
        yield _call(repository, n, "Edit", {"file_path": _path(repository)}, {**change, "structuredPatch": _patch(n)})
        source = added
        (repository / "src" / "app.py").write_text(source)
        answer = {"stdout": f"{n} passed\n", "stderr": "", "interrupted": False}
        yield _call(repository, n, "Bash", {"command": "pytest -q"}, answer, agent_id="tester" if n % 6 == 0 else None)
    yield _event("Stop", repository)
    yield _event("Notification", repository, message="done")
    yield _event("SessionEnd", repository, reason="exit")


def _event(name: str, repository: Path, **fields: Any) -> dict[str, Any]:
    said = {"session_id": SESSION, "cwd": str(repository), "hook_event_name": name, "transcript_path": "", **fields}
    return {key: value for key, value in said.items() if value is not None}


def _call(
    repository: Path, n: int, tool: str, given: dict[str, Any], answer: dict[str, Any], **more: Any
) -> dict[str, Any]:
    return _event(
        "PostToolUse",
        repository,
        prompt_id=f"p{n}",
        tool_name=tool,
        tool_use_id=f"toolu_{tool}_{n}",
        tool_input=given,
        tool_response=answer,
        **more,
    )


def _path(repository: Path) -> str:
    return str(repository / "src" / "app.py")


def _file(repository: Path, source: str) -> dict[str, Any]:
    lines = source.count("\n")
    return {"filePath": _path(repository), "content": source, "numLines": lines, "totalLines": lines}


def _patch(n: int) -> list[dict[str, Any]]:
    return [{"oldStart": n, "oldLines": 0, "newStart": n + 1, "newLines": 1, "lines": [f"+def f{n}(): return {n}"]}]
