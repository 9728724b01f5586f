"""The table of settings files: as agents write them, as people edit them, and broken ones."""

from dataclasses import dataclass

THEIRS = b"node ./scripts/audit.js"


@dataclass(frozen=True, slots=True)
class Case:
    """One file: its ``data`` (None: missing), the reason to refuse it, or the entries of ours that it already has.

    ``cleared`` is the file after removal, if it differs from the original.
    """

    agent: str
    data: bytes | None
    refused: str | None = None
    cleared: bytes | None = None
    name: str = "settings.local.json"


# Claude Code.

_USUAL = b"""\
{
  "permissions": {
    "allow": ["Bash(npm run test:*)", "WebFetch(domain:docs.python.org)"],
    "deny": []
  },
  "enabledMcpjsonServers": ["github"]
}
"""
_OTHERS_HOOKS = b"""\
{
  "hooks": {
    "PreToolUse": [
      {
        "matcher": "*",
        "hooks": [
          {"type": "command", "command": "node ./scripts/audit.js", "timeout": 5}
        ]
      },
      {
        "matcher": "Bash",
        "hooks": [{"type": "command", "command": "./guard.sh"}]
      }
    ],
    "Stop": [],
    "Notification": [{"hooks": [{"type": "command", "command": "afplay done.aiff"}]}]
  },
  "model": "opus"
}
"""
_COMMENTED = b"""\
// Settings of this machine; do not commit.
{
  /* what it may do */
  "permissions": {
    "allow": [
      "Read", // everything
      "Edit" /* nearly */
    ]
  }, // end of permissions
  // "model": "haiku",
  "hooks": {
    // one day: "Stop"
    "PostToolUse": [
      // formatting
      {"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "prettier --write"}]} // keep last
    ] // PostToolUse
  } // hooks
  // the end
}
// after the end
"""
_OLDER_PLACE = b"""\
{
  "model": "opus",
  "hooks": {
    "Stop": [
      {
        "hooks": [{"type": "command", "command": "say done"}]
      },
      {
        "hooks": [
          {
            "type": "command",
            "command": "python3 /moved/away/.git/custody/hook/record.py --agent claude-code || :"
          }
        ]
      }
    ],
    "SessionStart": [
      {
        "hooks": [
          {"type": "command", "command": "python3 /moved/away/.git/custody/hook/record.py --agent claude-code || :"}
        ]
      }
    ]
  }
}
"""
_OLDER_PLACE_CLEARED = b"""\
{
  "model": "opus",
  "hooks": {
    "Stop": [
      {
        "hooks": [{"type": "command", "command": "say done"}]
      }
    ]
  }
}
"""
_MIXED_GROUP = b"""\
{
    "hooks": {
        "Stop": [
            {"hooks": [
                {"type": "command", "command": "say done"},
                {"type": "command", "command": "python3 /old/custody/hook/record.py --agent claude-code || :"}
            ]}
        ]
    }
}
"""
_MIXED_GROUP_CLEARED = b"""\
{
    "hooks": {
        "Stop": [
            {"hooks": [
                {"type": "command", "command": "say done"}
            ]}
        ]
    }
}
"""
_HUGE = (
    b'{\n  "permissions": {\n    "allow": [\n'
    + b",\n".join(b'      "Bash(make target-%d)"' % n for n in range(30_000))
    + b"\n    ]\n  }\n}\n"
)

CLAUDE_CODE = {
    "missing": Case("claude-code", None),
    "empty": Case("claude-code", b""),
    "only a line end": Case("claude-code", b"\n"),
    "only a comment": Case("claude-code", b"// nothing yet"),
    "empty object": Case("claude-code", b"{}"),
    "empty object and line end": Case("claude-code", b"{}\n"),
    "empty object over lines": Case("claude-code", b"{\n\n}\n"),
    "empty hooks": Case("claude-code", b'{\n  "hooks": {}\n}\n'),
    "empty with a comment in it": Case("claude-code", b"{ /* none */ }\n"),
    "hooks with only a comment": Case("claude-code", b'{\n\t"hooks": {\n\t\t// none yet\n\t}\n}\n'),
    "usual": Case("claude-code", _USUAL),
    "no final line end": Case("claude-code", _USUAL.rstrip()),
    "others' hooks for the same event and matcher": Case("claude-code", _OTHERS_HOOKS),
    "comments everywhere": Case("claude-code", _COMMENTED),
    "trailing commas": Case("claude-code", b'{\n  "a": [1, 2,],\n  "hooks": {\n    "Stop": [\n    ],\n  }, // x\n}\n'),
    "tabs": Case("claude-code", _OTHERS_HOOKS.replace(b"  ", b"\t")),
    "four spaces": Case("claude-code", _USUAL.replace(b"  ", b"    ")),
    "carriage returns": Case("claude-code", _OTHERS_HOOKS.replace(b"\n", b"\r\n")),
    "byte order mark": Case("claude-code", b"\xef\xbb\xbf" + _USUAL),
    "byte order mark alone": Case("claude-code", b"\xef\xbb\xbf"),
    "one line": Case("claude-code", b'{"model":"opus","hooks":{"Stop":[{"hooks":[]}],"PreToolUse":[]}}'),
    "one line with a comment behind": Case("claude-code", b'{"model": "opus" // mine\n}\n'),
    "no indentation": Case("claude-code", b'{\n"model": "opus",\n"hooks": {\n"Stop": []\n}\n}\n'),
    "nested in an odd order": Case(
        "claude-code",
        b'{"hooks"\n:{ "Stop" :[\n {"hooks":[{"command":"x","type":"command"}]}\n ,{"hooks":[]}] ,"Setup":[]}\n'
        b',"z":[[[{}]]]}',
    ),
    "unicode": Case(
        "claude-code",
        '{\n  "名前": "Zoë 🐍 \\u00e9 \\ud83d\\ude00",\n  "hooks": {"Stop": [{"hooks": []}]}\n}\n'.encode(),
    ),
    "words that look like ours": Case("claude-code", b'{"env": {"X": "/custody/hook/record.py", "Y": "//,}"}}\n'),
    "numbers of all kinds": Case("claude-code", b'{"a": [-0, 1e5, 1.50, ' + b"9" * 400 + b', null, true], "b": ""}'),
    "huge": Case("claude-code", _HUGE),
    "our entry from an older place": Case("claude-code", _OLDER_PLACE, cleared=_OLDER_PLACE_CLEARED),
    "our entry in somebody's group": Case("claude-code", _MIXED_GROUP, cleared=_MIXED_GROUP_CLEARED),
    # Refused.
    "a key twice": Case(
        "claude-code", b'{\n  "hooks": {},\n  "hooks": {}\n}', r"line 3, column 3: repeated key \"hooks\""
    ),
    "a key twice elsewhere": Case("claude-code", b'{"a": {"b": 1, "b": 2}}', r"line 1, column 16: repeated key \"b\""),
    "cut off": Case("claude-code", _USUAL[:60], r"line 3, column \d+"),
    "no comma": Case("claude-code", b'{\n  "a": 1\n  "b": 2\n}', r"line 3, column 3: ',' or '}' is expected"),
    "merge conflict": Case("claude-code", b'{\n<<<<<<< HEAD\n  "a": 1\n=======\n', r"line 2, column 1"),
    "two commas": Case("claude-code", b'{"a": 1,, "b": 2}', r"line 1, column 9"),
    "single quotes": Case("claude-code", b"{'a': 1}", r"line 1, column 2: a string in double quotes"),
    "open comment": Case("claude-code", b'{"a": 1} /* not closed', r"line 1, column 10: unclosed comment"),
    "bad escape": Case("claude-code", b'{"a": "\\x41"}', r"line 1, column 7: invalid escape"),
    "not utf-8": Case("claude-code", b'{"a": "\xff"}', r"line 1, column 8: not UTF-8"),
    "utf-16": Case("claude-code", '{"a": 1}'.encode("utf-16"), r"line 1, column 1: not UTF-8"),
    "a list at the top": Case("claude-code", b"[]", r"an object is expected"),
    "hooks is a list": Case("claude-code", b'{\n  "hooks": []\n}', r"line 2, column 12: invalid \"hooks\": "),
    "an event is an object": Case("claude-code", b'{"hooks": {"Stop": {}}}', r"line 1, column 20: invalid \"Stop\": "),
    "too deep": Case("claude-code", b'{"a": ' + b"[" * 200 + b"]" * 200 + b"}", r"more than 128 levels"),
    "two values": Case("claude-code", b"{} {}", r"line 1, column 4: unexpected text after the value"),
}

# Cursor.

_CURSOR_USUAL = b"""\
{
  "version": 1,
  "hooks": {
    "afterFileEdit": [
      { "command": "./hooks/format.sh" }
    ],
    "beforeShellExecution": [{ "command": "./hooks/guard.sh", "matcher": "curl|wget", "timeout": 10 }],
    "stop": []
  }
}
"""
CURSOR = {
    "cursor, missing": Case("cursor", None, name="hooks.json"),
    "cursor, usual": Case("cursor", _CURSOR_USUAL, name="hooks.json"),
    "cursor, no version": Case(
        "cursor", b'{\n  "hooks": {\n    "stop": [ {"command": "x"} ]\n  }\n}', name="hooks.json"
    ),
    "cursor, version last": Case("cursor", b'{"hooks": {}, "version": 1}\n', name="hooks.json"),
    "cursor, only version": Case("cursor", b'{ "version": 1 }', name="hooks.json"),
    "cursor, older place": Case(
        "cursor",
        b'{"version": 1, "hooks": {"stop": [{"command": "/old/custody/hook/record.py --agent cursor"},'
        b' {"command": "x"}]}}',
        cleared=b'{"version": 1, "hooks": {"stop": [ {"command": "x"}]}}',
        name="hooks.json",
    ),
    "cursor, another version": Case("cursor", b'{"version": 2, "hooks": {}}', r"only 1 is known", name="hooks.json"),
}

# Gemini CLI.

_GEMINI_USUAL = b"""\
{
  "general": { "preferredEditor": "vim" },
  "hooksConfig": { "enabled": true, "disabled": [] },
  "hooks": {
    "BeforeTool": [
      {
        "matcher": "write_file|replace",
        "hooks": [ { "name": "audit", "type": "command", "command": "node ./scripts/audit.js", "timeout": 5000 } ]
      }
    ]
  },
  "mcpServers": {} // none
}
"""
GEMINI = {
    "gemini, missing": Case("gemini", None, name="settings.json"),
    "gemini, usual": Case("gemini", _GEMINI_USUAL, name="settings.json"),
    "gemini, switches among the events": Case(
        "gemini", b'{"hooks": {"enabled": true, "disabled": ["x"], "AfterTool": []}}\n', name="settings.json"
    ),
}

# Codex CLI.

_TOML_USUAL = b"""\
# ~/.codex/config.toml
model = "gpt-5.2-codex"   # the default
approval_policy = "on-request"
notify = ["python3", "/home/ana/notify.py"]

[features]
hooks = true

[mcp_servers.docs]
command = "npx"
args = ["-y", "mcp-server"]
env = { API_KEY = "x", "weird.key" = 'literal \\ string' }

[[hooks.PreToolUse]]
matcher = "^Bash$"

[[hooks.PreToolUse.hooks]]
type = "command"
command = '/usr/bin/python3 "$(git rev-parse --show-toplevel)/.codex/policy.py"'
timeout = 30

[hooks.state."/home/ana/.codex/config.toml:pre_tool_use:0:0"]
trusted_hash = "sha256:abc"

[projects."/home/ana/src"]
trust_level = "trusted"
"""
_TOML_INLINE = b"""\
model = "o4"
hooks = { PreToolUse = [{ hooks = [{ type = "command", command = "x" }] }], Stop = [] } # all mine
[tui]
theme = "dark"
"""
_TOML_ARRAYS = b"""\
[hooks]
Stop = [
  { hooks = [{ type = "command", command = "say done" }] }, # loud
]
PostToolUse = [{ matcher = "a]}", hooks = [] }]

[tui]
"""
_TOML_OLDER = b"""\
model = "o4"

[[hooks.Stop]]
[[hooks.Stop.hooks]]
type = "command"
command = "/old/custody/hook/record.py --agent codex"

# mine
[[hooks.Stop]]
[[hooks.Stop.hooks]]
type = "command"
command = "say done"
"""
_TOML_OLDER_CLEARED = _TOML_OLDER.replace(
    b"""
[[hooks.Stop]]
[[hooks.Stop.hooks]]
type = "command"
command = "/old/custody/hook/record.py --agent codex"
""",
    b"",
)
CODEX = {
    "codex, missing": Case("codex", None, name="hooks.json"),
    "codex, json": Case("codex", b'{"hooks": {"Stop": [{"hooks": []}]}, "description": "x"}\n', name="hooks.json"),
    "codex, toml with comments and inline tables": Case("codex", _TOML_USUAL, name="config.toml"),
    "codex, toml without final line end": Case("codex", _TOML_USUAL.rstrip(), name="config.toml"),
    "codex, toml with carriage returns": Case("codex", _TOML_USUAL.replace(b"\n", b"\r\n"), name="config.toml"),
    "codex, toml with hooks on one line": Case("codex", _TOML_INLINE, name="config.toml"),
    "codex, toml with hooks as arrays": Case("codex", _TOML_ARRAYS, name="config.toml"),
    "codex, toml, empty": Case("codex", b"", name="config.toml"),
    "codex, toml, older place": Case("codex", _TOML_OLDER, cleared=_TOML_OLDER_CLEARED, name="config.toml"),
    "codex, toml, unparsable": Case("codex", b'model = "x\nhooks = 1\n', r"line 1, column \d+", name="config.toml"),
    "codex, toml, not utf-8": Case("codex", b'a = 1\nb = "\xff"\n', r"line 2, column 1", name="config.toml"),
    "codex, toml, hooks is not a table": Case(
        "codex", b'hooks = "none"\n', r"cannot place our tables", name="config.toml"
    ),
    "codex, toml, an event is a table": Case(
        "codex", b"[hooks.Stop]\nx = 1\n", r"cannot place our tables", name="config.toml"
    ),
}

CASES = CLAUDE_CODE | CURSOR | GEMINI | CODEX
FINE = {name: case for name, case in CASES.items() if case.refused is None}
REFUSED = {name: case for name, case in CASES.items() if case.refused is not None}
