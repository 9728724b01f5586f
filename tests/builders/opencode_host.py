"""The plugin interface of opencode: loads the real plugin into node and calls its hooks."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.builders.opencode import MODEL, NEWEST, PROVIDER, SESSION, Opencode
from tests.house.not_run import not_run

HOST = """
import { readFileSync, writeFileSync, mkdirSync, rmSync } from "node:fs"
import { dirname } from "node:path"
const asked = JSON.parse(readFileSync(0, "utf8"))
const code = readFileSync(asked.plugin)
const module = await import("data:text/javascript;base64," + code.toString("base64"))
const client = { session: { get: async ({ path }) => {
  if (!(path.id in asked.sessions)) throw new Error("no such session")
  return { data: asked.sessions[path.id] }
} } }
const hooks = []
for (const make of Object.values(module)) hooks.push(await make({ client, directory: asked.directory, worktree: "/" }))
const took = []
for (const step of asked.steps) {
  if (step.write) {
    mkdirSync(dirname(step.write), { recursive: true })
    if (step.text === null) rmSync(step.write)
    else writeFileSync(step.write, step.text)
    continue
  }
  const start = Date.now()
  for (const hook of hooks) await hook[step.hook]?.(step.input, step.output)
  took.push([step.hook, Date.now() - start])
}
for (const hook of hooks) await hook.dispose?.()
console.log(JSON.stringify(took))
"""
"""The plugin is loaded, its hooks are called in turn, and between them the agent writes files."""
HOST_2 = """
import { copyFileSync, readFileSync, writeFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { tmpdir } from "node:os"
import { pathToFileURL } from "node:url"
const asked = JSON.parse(readFileSync(0, "utf8"))
const folder = mkdtempSync(join(tmpdir(), "plugin-"))
copyFileSync(asked.plugin, join(folder, "custody.mjs"))
const { default: plugin } = await import(pathToFileURL(join(folder, "custody.mjs")).href + "?mtime=1791500531")
rmSync(folder, { recursive: true })
if (typeof plugin.id !== "string" || typeof plugin.setup !== "function") throw new TypeError("no plugin")
const hooks = {}
const domain = { hook: async (name, act) => void (hooks[name] = act) }
const get = async ({ sessionID }) => {
  if (!(sessionID in asked.sessions)) throw new Error("no such session")
  return asked.sessions[sessionID]
}
const location = { directory: asked.directory, project: { id: "p1" } }
const dispose = await plugin.setup({ app: { version: "2.0.26" }, location, session: { ...domain, get }, tool: domain })
const told = {
  "chat.message": ({ sessionID, messageID }, { parts }) =>
    hooks.prompt({ sessionID, messageID, prompt: { text: parts[0].text, files: [] }, delivery: "queue" }),
  "tool.execute.before": (input, { args }) => hooks["execute.before"](about(input, args)),
  "tool.execute.after": (input, { output, metadata, args }) => {
    const result = { content: [{ type: "text", text: output }], metadata }
    return hooks["execute.after"]({ ...about(input, input.args ?? args), status: "completed", result })
  },
  event: ({ event: { type, properties } }) => {
    const { info, part } = properties
    if (type === "message.updated" && info.role === "assistant") {
      const model = { id: info.modelID, providerID: info.providerID }
      return hooks.context({ sessionID: info.sessionID, agent: "build", model, kind: "primary", system: [] })
    }
    if (type !== "message.part.updated" || part.state.status !== "error") return
    const error = { type: "tool.execution", message: part.state.error }
    return hooks["execute.after"]({ ...about(part, part.state.input), status: "error", error })
  },
}
const about = (input, given) =>
  ({ tool: input.tool, sessionID: input.sessionID, agent: "build", messageID: "msg_1", id: input.callID, input: given })
const took = []
for (const step of asked.steps) {
  if (step.write) {
    mkdirSync(dirname(step.write), { recursive: true })
    if (step.text === null) rmSync(step.write)
    else writeFileSync(step.write, step.text)
    continue
  }
  const start = Date.now()
  await told[step.hook]?.(step.input, step.output)
  took.push([step.hook, Date.now() - start])
}
await dispose()
console.log(JSON.stringify(took))
"""
"""The same for opencode 2, which loads plugins differently and has other hooks and names."""


def run_plugin(
    plugin: Path, session: Opencode, sessions: dict[str, Any] | None = None, **environment: str
) -> list[Any]:
    """Run the real plugin on a session; return the time of each hook in milliseconds."""
    node = shutil.which("node")
    if node is None:
        not_run("the plugin in node", "there is no 'node'")
    asked = {
        "plugin": str(plugin),
        "directory": str(session.root),
        "steps": session.steps,
        "sessions": {one.session: one.info() for one in session.all} if sessions is None else sessions,
    }
    done = subprocess.run(
        [node, "--input-type=module", "-e", HOST_2 if session.version == NEWEST else HOST],
        input=json.dumps(asked),
        text=True,
        capture_output=True,
        cwd=plugin.parent,
        env={**os.environ, **environment},
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    took: list[Any] = json.loads(done.stdout)
    return took


def said_by_plugin(event: str, root: Path | str, **fields: Any) -> dict[str, Any]:
    """Return an event as the plugin passes it to the recorder."""
    model = {"providerID": PROVIDER, "id": MODEL}
    about = {"hook_event_name": event, "plugin": 1, "cwd": str(root), "session_id": SESSION, "model": model}
    return {**about, **fields}


def told_of(session: Opencode) -> list[dict[str, Any]]:
    """Return the ended calls of a session, as the plugin passes them on."""
    told = []
    for part in session.parts("tool"):
        state = part["state"]
        answer = {key: state[key] for key in ("title", "output", "error", "metadata") if key in state}
        event = "message.part.updated" if "error" in state else "tool.execute.after"
        about = {"tool_name": part["tool"], "tool_use_id": part["callID"], "tool_input": state["input"]}
        told.append(said_by_plugin(event, session.root, **about, tool_response=answer))
    return told
