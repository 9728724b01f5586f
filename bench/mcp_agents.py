"""``python -m bench mcp-agents``: real agents call the tools of ``custody mcp``; their model is a script.

    python -m bench mcp-agents --bin DIR                       every agent whose program is in DIR or on PATH
    python -m bench mcp-agents --bin DIR --only claude-code

The model listens on loopback and speaks the APIs of Anthropic, OpenAI and Google. It calls the tool ``why`` once, then
ends. Nothing else is contacted on purpose, and each agent has an empty home. Not part of the tests: agents are large.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, TextIO

QUESTION = "Why is line 1 of app.py there? Use the tools of custody."
SECONDS_MAX = 120
TOOL = "why"
ARGUMENTS = {"file": "app.py", "line": 1}


class ScriptedModel(ThreadingHTTPServer):
    """A model that calls one tool and ends; it keeps the names of the tools and the results that it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _ModelHandler)
        self.tools: set[str] = set()
        self.results: list[str] = []
        self.paths: list[str] = []

    @property
    def url(self) -> str:
        """Return the address of the model."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def choose(self, names: Sequence[str], result: str | None) -> str | None:
        """Return the tool to call now, if any."""
        ours = [name for name in names if "custody" in name]
        self.tools.update(ours)
        if result is not None:
            self.results.append(result)
            return None
        return next((name for name in ours if name.endswith(TOOL)), None)


class _ModelHandler(BaseHTTPRequestHandler):
    server: ScriptedModel

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Answer questions about the model with an empty list."""
        self._send({"data": [], "models": []})

    def do_POST(self) -> None:
        """Answer a request of any of the APIs."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        self.server.paths.append(self.path)
        if "count_tokens" in self.path or "countTokens" in self.path:
            self._send({"input_tokens": 1, "totalTokens": 1})
            return
        if "/messages" in self.path:
            self._answer_messages(body)
            return
        if "enerateContent" in self.path:
            self._answer_content(body)
            return
        self._answer_chat(body)

    def _answer_messages(self, body: dict[str, Any]) -> None:
        names = [tool["name"] for tool in body.get("tools", ())]
        parts = [
            part for message in body["messages"] if isinstance(message["content"], list) for part in message["content"]
        ]
        results = [
            json.dumps(part) for part in parts if part.get("type") == "tool_result" and "boundary" in json.dumps(part)
        ]
        used = [part["name"] for part in parts if part.get("type") == "tool_use"]
        name = self.server.choose(names, results[-1] if results else None)
        search = next((name for name in ("ToolSearch", "WaitForMcpServers") if name in names), None)
        if name is not None and len(used) < 4:
            blocks = [{"type": "tool_use", "id": f"toolu_{len(used)}", "name": name, "input": ARGUMENTS}]
        elif not results and search is not None and len(used) < 3:
            wanted = {"query": f"select:mcp__custody__{TOOL}", "max_results": 5} if search == "ToolSearch" else {}
            blocks = [{"type": "tool_use", "id": f"toolu_{len(used)}", "name": search, "input": wanted}]
        else:
            blocks = [{"type": "text", "text": "done"}]
        stop = "tool_use" if blocks[0]["type"] == "tool_use" else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "script", "usage": usage}
        if not body.get("stream"):
            self._send({**message, "content": blocks, "stop_reason": stop, "stop_sequence": None})
            return
        self._stream(list(_list_message_events(message, blocks, stop)))

    def _answer_chat(self, body: dict[str, Any]) -> None:
        names = [tool["function"]["name"] for tool in body.get("tools", ()) if "function" in tool]
        results = [str(message["content"]) for message in body.get("messages", ()) if message.get("role") == "tool"]
        name = self.server.choose(names, results[-1] if results else None)
        call = {"index": 0, "id": "call_1", "type": "function"}
        called = {"name": name, "arguments": json.dumps(ARGUMENTS)}
        delta: dict[str, Any] = {"role": "assistant"}
        delta |= {"content": "done"} if name is None else {"tool_calls": [{**call, "function": called}]}
        end = {"index": 0, "delta": {}, "finish_reason": "stop" if name is None else "tool_calls"}
        head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "script"}
        chunks = [
            {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {**head, "choices": [end]},
        ]
        if body.get("stream"):
            self._stream([(None, json.dumps(chunk)) for chunk in chunks] + [(None, "[DONE]")])
            return
        self._send({**head, "object": "chat.completion", "choices": [{**end, "message": delta}]})

    def _answer_content(self, body: dict[str, Any]) -> None:
        declared = [one for tool in body.get("tools", ()) for one in tool.get("functionDeclarations", ())]
        parts = [part for content in body.get("contents", ()) for part in content.get("parts", ())]
        results = [json.dumps(part) for part in parts if "functionResponse" in part]
        name = self.server.choose([one["name"] for one in declared], results[-1] if results else None)
        part: dict[str, Any] = {"text": "done"} if name is None else {"functionCall": {"name": name, "args": ARGUMENTS}}
        answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}]}
        if "stream" in self.path:
            self._stream([(None, json.dumps(answer))])
            return
        self._send(answer)

    def _send(self, value: object) -> None:
        raw = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _stream(self, events: Sequence[tuple[str | None, str]]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for name, data in events:
            head = "" if name is None else f"event: {name}\n"
            self.wfile.write(f"{head}data: {data}\n\n".encode())


def _list_message_events(
    message: Mapping[str, Any], blocks: Sequence[dict[str, Any]], stop: str
) -> Iterator[tuple[str, str]]:
    def event(kind: str, **fields: object) -> tuple[str, str]:
        return kind, json.dumps({"type": kind, **fields})

    yield event("message_start", message={**message, "content": [], "stop_reason": None, "stop_sequence": None})
    for number, block in enumerate(blocks):
        is_text = block["type"] == "text"
        start = {"type": "text", "text": ""} if is_text else {**block, "input": {}}
        delta = {"type": "text_delta", "text": block.get("text")}
        if not is_text:
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield event("content_block_start", index=number, content_block=start)
        yield event("content_block_delta", index=number, delta=delta)
        yield event("content_block_stop", index=number)
    yield event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage={"output_tokens": 1})
    yield event("message_stop")


def _command_claude(program: str, url: str, root: Path) -> tuple[list[str], dict[str, str]]:
    options = ["-p", QUESTION, "--mcp-config", str(root / ".mcp.json"), "--allowedTools", "mcp__custody"]
    return [program, *options], {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "DISABLE_TELEMETRY": "1"}


def _command_opencode(program: str, url: str, root: Path) -> tuple[list[str], dict[str, str]]:
    file = root / "opencode.json"
    settings = json.loads(file.read_text())
    model = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": f"{url}/v1", "apiKey": "none"}}
    settings["provider"] = {"script": {**model, "models": {"script": {"name": "script", "tool_call": True}}}}
    settings |= {"model": "script/script", "small_model": "script/script", "autoupdate": False, "share": "disabled"}
    file.write_text(json.dumps(settings))
    return [program, "run", QUESTION], {"OPENCODE_DISABLE_MODELS_FETCH": "1"}


def _command_gemini(program: str, url: str, root: Path) -> tuple[list[str], dict[str, str]]:
    file = root / ".gemini" / "settings.json"
    file.write_text(
        json.dumps(json.loads(file.read_text()) | {"security": {"auth": {"selectedType": "gemini-api-key"}}})
    )
    options = ["-p", QUESTION, "--approval-mode", "yolo", "--skip-trust"]
    return [program, *options], {
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": "none",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }


AGENTS = {
    "claude-code": ("claude", _command_claude),
    "gemini": ("gemini", _command_gemini),
    "opencode": ("opencode", _command_opencode),
}


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Run every agent that is here; 1 if one did not list or not call the tools, or none is here."""
    parser = argparse.ArgumentParser(prog="python -m bench mcp-agents", description="Let real agents call the tools.")
    parser.add_argument("--bin", metavar="DIR", help="a folder with programs of agents, before PATH")
    parser.add_argument("--only", metavar="NAMES", help="agents, separated by commas")
    args = parser.parse_args(argv)
    wanted = args.only.split(",") if args.only else list(AGENTS)
    found = {
        name: shutil.which(AGENTS[name][0], path=f"{args.bin or ''}{os.pathsep}{os.environ['PATH']}") for name in wanted
    }
    results = [_run_agent(name, program, err or sys.stderr) for name, program in found.items() if program is not None]
    for line in results:
        print(json.dumps(line), file=out or sys.stdout)
    return 0 if results and all(line["tools"] and line["called"] for line in results) else 1


def _run_agent(name: str, program: str, err: TextIO) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, _scripted_model() as model:
        root, home = Path(folder) / "repository", Path(folder) / "home"
        home.mkdir()
        _make_repository(root, name)
        command, settings = AGENTS[name][1](program, model.url, root)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "TERM": "dumb",
            "NO_PROXY": "127.0.0.1",
            **settings,
        }
        ended = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            ran = subprocess.run(
                command,
                cwd=root,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=SECONDS_MAX,
                check=False,
            )
            ended = ran.returncode
            print(f"{name}: {ran.stdout[-300:]}{ran.stderr[-300:]}", file=err)
        framed = any("<recorded " in result or "recorded " in result for result in model.results)
        shown = {"tools": sorted(model.tools), "called": bool(model.results), "framed": framed, "status": ended}
        return {"agent": name, **shown, "requests": len(model.paths)}


@contextlib.contextmanager
def _scripted_model() -> Iterator[ScriptedModel]:
    model = ScriptedModel()
    thread = Thread(target=model.serve_forever, daemon=True)
    thread.start()
    try:
        yield model
    finally:
        model.shutdown()
        model.server_close()


def _make_repository(root: Path, agent: str) -> None:
    root.mkdir()
    (root / "app.py").write_text("total = price * count\n")
    identity = ["-c", "user.name=A Person", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "app.py"], [*identity, "commit", "-qm", "begin"]):
        subprocess.run(["git", "-C", str(root), *words], check=True)
    init = [sys.executable, "-m", "custody", "-C", str(root), "init", "--mcp", "--agent", agent]
    subprocess.run(init, check=True, stdout=subprocess.DEVNULL)
