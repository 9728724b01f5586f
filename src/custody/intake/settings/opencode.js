import { spawn } from "node:child_process"

const RECORD = "@RECORD@"
const WAIT_MS = 4000 // so long the agent waits for its recorder, and never longer
const KILL_MS = 30000
const ASK_MS = 500
const WAITING_MAX = 1000
const KEPT_MAX = 2000
const DEPTH_MAX = 20
const CHANGING = new Set(["bash", "shell", "edit", "write", "multiedit", "patch", "apply_patch"])

// Only tools that change files are waited for: the recorder looks at the files before and after them.
const Custody = async ({ client, directory } = {}) => {
  const parents = new Map() // of a session, the one that started it, or null, as a promise
  const models = new Map() // of a session, the model that speaks in it
  const starters = new Map() // of a subagent's session, the call that started it
  const given = new Map() // of a call under way, its input
  const failed = new Map() // calls whose failure was told
  let last = Promise.resolve()
  let waiting = 0
  let leftOut = 0
  let slow = false

  const remember = (map, key, value) => {
    map.delete(key)
    map.set(key, value)
    if (map.size > KEPT_MAX) map.delete(map.keys().next().value)
  }

  const within = (promise, milliseconds) =>
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), milliseconds)
      timer.unref?.()
      Promise.resolve(promise).then(
        (value) => (clearTimeout(timer), resolve(value)),
        () => (clearTimeout(timer), resolve(undefined)),
      )
    })

  const run = (said) =>
    new Promise((resolve) => {
      const { CLAUDE_PROJECT_DIR: _, ...env } = process.env
      const child = spawn("/bin/sh", ["-c", RECORD], { env, stdio: ["pipe", "ignore", "ignore"] })
      const timer = setTimeout(() => child.kill("SIGKILL"), KILL_MS)
      timer.unref?.()
      const done = () => (clearTimeout(timer), resolve(true))
      child.on("error", done)
      child.on("close", done)
      child.stdin.on("error", () => {})
      child.stdin.end(said)
    })

  // One recorder at a time, in order. One that was slow is not waited for again until another was quick.
  const put = (said) => {
    if (waiting >= WAITING_MAX) {
      leftOut += 1
      return Promise.resolve()
    }
    const words = JSON.stringify(leftOut ? { ...said, left_out: leftOut } : said)
    leftOut = 0
    waiting += 1
    const mine = last.then(async () => {
      slow = (await within(run(words), slow ? ASK_MS : WAIT_MS)) !== true
      waiting -= 1
    })
    last = mine.catch(() => {})
    return within(last, WAIT_MS)
  }

  const parentOf = (session) => {
    if (!parents.has(session)) {
      const ask = async () => (await client?.session?.get?.({ path: { id: session } }))?.data?.parentID ?? null
      remember(parents, session, within(ask(), ASK_MS))
    }
    return parents.get(session)
  }

  const rootOf = async (session) => {
    let root = session
    for (let depth = 0; depth < DEPTH_MAX; depth += 1) {
      const above = await parentOf(root)
      if (!above) break
      root = above
    }
    return root
  }

  const named = (session, root, call) => (session === root ? call : `${session}/${call}`)

  const tell = async (event, session, more) => {
    if (!session) return
    const root = await rootOf(session)
    const said = { hook_event_name: event, plugin: 1, cwd: directory, session_id: root, model: models.get(session) }
    if (session !== root) {
      Object.assign(said, { agent_id: session, parent_id: await parentOf(session), parent_call: starters.get(session) })
    }
    if (more.callID) said.tool_use_id = named(session, root, more.callID)
    return put({ ...said, ...more, callID: undefined })
  }

  const told = (result) => {
    if (!result || typeof result !== "object") return result
    // What a compiler said of other files, and what stands in the output as well, is left out.
    const { diagnostics: _, preview: __, display: ___, output: ____, summary, ...metadata } = result.metadata ?? {}
    if (Array.isArray(summary) && summary[0]?.sessionID) metadata.sessionId ??= summary[0].sessionID
    const content = Array.isArray(result.content) ? result.content.filter((block) => block?.type === "text") : undefined
    return { title: result.title, output: result.output, error: result.error, metadata, content }
  }

  const tool = (event, input, args, result) =>
    tell(event, input.sessionID, {
      callID: input.callID,
      tool_name: input.tool,
      tool_input: args,
      tool_response: result === undefined ? undefined : told(result),
    })

  // Whatever goes wrong here is no reason for the agent to stop, or even to wait.
  const safe = (act) => async (...words) => {
    try {
      await act(...words)
    } catch {}
  }

  const events = {
    "session.created": async ({ info }) => {
      remember(parents, info.id, Promise.resolve(info.parentID ?? null))
      void tell("session.created", info.id, { version: info.version }).catch(() => {})
    },
    "message.updated": async ({ info }) => {
      if (info.role === "assistant" && info.modelID) {
        remember(models, info.sessionID, { providerID: info.providerID, id: info.modelID })
      }
    },
    "message.part.updated": async ({ part }) => {
      if (part.type !== "tool") return
      const child = part.state?.metadata?.sessionId
      if (part.tool === "task" && child && !starters.has(child)) {
        remember(starters, child, named(part.sessionID, await rootOf(part.sessionID), part.callID))
      }
      const key = `${part.sessionID} ${part.callID}`
      if (part.state?.status !== "error" || failed.has(key)) return
      remember(failed, key, true)
      void tool("message.part.updated", part, part.state.input, part.state).catch(() => {})
    },
  }

  return {
    "chat.message": safe(async (input, output) => {
      const message = output?.message ?? {}
      const session = input?.sessionID ?? message.sessionID
      const model = message.model ?? input?.model
      if (model?.modelID) remember(models, session, { providerID: model.providerID, id: model.modelID })
      const typed = (output?.parts ?? []).filter((part) => part?.type === "text" && !part.synthetic && !part.ignored)
      const said = { prompt_id: message.id ?? input?.messageID, prompt: typed.map((part) => part.text).join("\n") }
      void tell("chat.message", session, said).catch(() => {})
    }),
    "tool.execute.before": safe(async (input, output) => {
      remember(given, `${input.sessionID} ${input.callID}`, output?.args)
      const kept = tool("tool.execute.before", input, output?.args).catch(() => {})
      if (CHANGING.has(input.tool)) await kept
    }),
    "tool.execute.after": safe(async (input, output) => {
      const key = `${input.sessionID} ${input.callID}`
      const args = input.args ?? given.get(key)
      given.delete(key)
      const kept = tool("tool.execute.after", input, args, output ?? {}).catch(() => {})
      if (CHANGING.has(input.tool)) await kept
    }),
    event: safe(async ({ event }) => {
      if (Object.hasOwn(events, event?.type)) await events[event.type](event.properties)
    }),
    dispose: safe(() => within(last, WAIT_MS)),
  }
}

// opencode 2 hands its plugins another shape: each of its hooks is told as the one that says the same in opencode 1.
const setup = async (ctx) => {
  const get = async ({ path }) => ({ data: await ctx.session.get({ sessionID: path.id }) })
  const hooks = await Custody({ client: { session: { get } }, directory: ctx.location?.directory })
  const tell = (type, properties) => hooks.event({ event: { type, properties } })
  const asked = new Map() // of a call under way that starts a subagent, who made it and what it asks
  const safe = (act) => async (event) => {
    try {
      await act(event)
    } catch {}
  }

  // A subagent's first prompt ends with what the call was given that started it.
  const started = async (child, text) => {
    for (const { sessionID, callID, input } of asked.values()) {
      if (sessionID === child || !(input.sessionID === child || (input.prompt && text.endsWith(input.prompt)))) continue
      const state = { status: "running", metadata: { sessionId: child } }
      await tell("message.part.updated", { part: { type: "tool", tool: "task", sessionID, callID, state } })
      return
    }
  }

  const shown = ({ content } = {}) =>
    typeof content === "string" ? content : (content ?? []).map((block) => block?.text).filter(Boolean).join("\n")

  const prompt = safe(async ({ sessionID, messageID, prompt }) => {
    const text = prompt?.text ?? ""
    await started(sessionID, text)
    await hooks["chat.message"]({ sessionID, messageID }, { parts: [{ type: "text", text }] })
  })
  const context = safe(({ sessionID, model, kind = "primary" }) => {
    const info = { role: "assistant", sessionID, modelID: model?.id, providerID: model?.providerID }
    if (kind === "primary") return tell("message.updated", { info })
  })
  const before = safe(({ tool, sessionID, id, input }) => {
    const made = { sessionID, callID: id, input: input ?? {} }
    if (tool === "subagent" && asked.size < KEPT_MAX) asked.set(`${sessionID} ${id}`, made)
    return hooks["tool.execute.before"]({ tool, sessionID, callID: id }, { args: input })
  })
  const after = safe(async ({ tool, sessionID, id, input, status, result, error }) => {
    asked.delete(`${sessionID} ${id}`)
    const about = { tool, sessionID, callID: id }
    const answer = { output: shown(result), metadata: result?.metadata }
    if (status !== "error") return hooks["tool.execute.after"]({ ...about, args: input }, answer)
    const state = { status, input, error: error?.message ?? String(error) }
    return tell("message.part.updated", { part: { ...about, type: "tool", state } })
  })

  for (const [domain, name, act] of [
    [ctx.session, "prompt", prompt],
    [ctx.session, "context", context],
    [ctx.tool, "execute.before", before],
    [ctx.tool, "execute.after", after],
  ]) {
    try {
      await domain.hook(name, act)
    } catch {}
  }
  return () => hooks.dispose()
}

// opencode 1 calls what a plugin exports, and before April 2026 stumbles over anything that cannot be called; opencode 2
// wants an object, and names the file with the time of its last change.
export default /[?&]mtime=/.test(import.meta.url) ? { id: "custody", setup } : Custody
