"""Which commands a script of Codex CLI runs, where its own text tells that.

Pure. Since summer 2026 models may write JavaScript for a tool named ``exec``, and the rollout has the script alone:
``const r = await tools.exec_command({"cmd": "ls"}); text(r.output)``. Rollouts of 0.137 to 0.146 are like that (patches
of scripts have events of their own). A command counts that stands in the script as a text, and that certainly ran:
nothing before it branches or loops. What cannot be told is not guessed.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from custody.capture.agents.codex.tool_calls import BASH, ToolInput, parse_tool_input, plain
from custody.core.wire.canonical import Json

SCRIPT = "exec"
CHARS_MAX = 200_000
DEPTH_MAX = 20
ENDS = frozenset(", ) ] } ;".split())
BRANCHING = frozenset("if for while do switch function try catch => ? ?? && ||".split())

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*(?:.*?\*/|.*))
    |(?P<name>[^\W\d][\w$]*|\$[\w$]*)
    |(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\$]|\\.|\$(?!\{))*`)
    |(?P<number>\d[\w.]*)
    |(?P<sign>=>|&&|\|\||\?\.|\?\?|.)""",
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\r\n|.))", re.DOTALL)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None, "undefined": None}


def ran_in(script: str) -> ToolInput | None:
    r"""The command that a script certainly ran, several as lines of one; None where it tells none.

    >>> ran_in('text(await tools.exec_command({cmd: "make", workdir: "/w"}))')
    ToolInput(command='make', patch=None, folder='/w', rest=None)
    """
    if len(script) > CHARS_MAX or "tools." not in script:
        return None
    try:
        inputs = _Script(script).commands()
    except _UnreadableScript:
        return None
    commands = [tool_input.command for tool_input in inputs if tool_input.command is not None]
    if not commands or len(commands) < len(inputs) or len({tool_input.folder for tool_input in inputs}) > 1:
        return None
    if len(commands) > 1 and any("cd " in command for command in commands):
        return None  # each began in the same folder, which lines of one command would not
    return ToolInput("\n".join(commands), None, inputs[0].folder)


class _UnreadableScript(Exception):
    """The script cannot be read, or not to its end."""


class _Token(NamedTuple):
    kind: str
    text: str


class _Script:
    """A script as tokens, and the texts that names in it stand for."""

    def __init__(self, script: str) -> None:
        found = (_Token(match.lastgroup or "", match[0]) for match in _TOKEN.finditer(script))
        self.tokens: Sequence[_Token] = [token for token in found if token.kind != "space"]
        self.bound: dict[str, Json] = {}
        self.at = 0

    def commands(self) -> list[ToolInput]:
        """What each call of a shell tool was given."""
        found, branched = list[ToolInput](), False
        while self.at < len(self.tokens):
            branched = branched or self.tokens[self.at].text in BRANCHING
            if self._comes("const") or self._comes("let") or self._comes("var"):
                self._bind()
            elif self._comes("tools", "."):
                tool = plain(self._next().text)
                if tool == BASH:
                    if branched or not self._comes("("):
                        raise _UnreadableScript
                    found.append(parse_tool_input(tool, self._value()))
            else:
                self.at += 1
        return found

    def _bind(self) -> None:
        name = self._next().text
        if self._comes("="):
            start = self.at
            try:
                self.bound[name] = self._value()
            except _UnreadableScript:
                self.at = start  # not a text: it may be a call

    def _comes(self, *texts: str) -> bool:
        """Whether these tokens come next, which are then passed."""
        if tuple(token.text for token in self.tokens[self.at : self.at + len(texts)]) != texts:
            return False
        self.at += len(texts)
        return True

    def _next(self) -> _Token:
        if self.at >= len(self.tokens):
            raise _UnreadableScript
        self.at += 1
        return self.tokens[self.at - 1]

    # --- values -------------------------------------------------------------------------------------------------------

    def _value(self, depth: int = 0) -> Json:
        """A value that stands in the script as it is, or under a name."""
        if depth > DEPTH_MAX:
            raise _UnreadableScript
        value = self._parse_value(depth)
        if isinstance(value, list) and self._comes(".", "join", "("):
            value = self._joined(value, self._parse_value(depth))
            if not self._comes(")"):
                raise _UnreadableScript
        while isinstance(value, str) and self._comes("+"):
            value = self._joined([value, self._parse_value(depth)], "")
        after = self.tokens[self.at] if self.at < len(self.tokens) else _Token("sign", ";")
        if after.kind != "name" and after.text not in ENDS:
            raise _UnreadableScript  # it goes on in a way that is not known here
        return value

    def _parse_value(self, depth: int) -> Json:
        token = self._next()
        if token.kind == "text":
            return _unescaped(token.text[1:-1])
        if token.kind == "number":
            return token.text
        if token.text == "{":
            return self._object(depth)
        if token.text == "[":
            return self._list(depth)
        if token.text in _WORDS:
            return _WORDS[token.text]
        if token.text in self.bound:
            return self.bound[token.text]
        raise _UnreadableScript

    def _object(self, depth: int) -> Json:
        made: dict[str, Json] = {}
        while not self._comes("}"):
            token = self._next()
            key = _unescaped(token.text[1:-1]) if token.kind == "text" else token.text
            if self._comes(":"):
                made[key] = self._value(depth + 1)
            elif token.kind == "name" and key in self.bound:
                made[key] = self.bound[key]
            else:
                raise _UnreadableScript
            if not self._comes(",") and self.tokens[self.at : self.at + 1] != [_Token("sign", "}")]:
                raise _UnreadableScript
        return made

    def _list(self, depth: int) -> Json:
        made = list[Json]()
        while not self._comes("]"):
            made.append(self._value(depth + 1))
            if not self._comes(",") and self.tokens[self.at : self.at + 1] != [_Token("sign", "]")]:
                raise _UnreadableScript
        return made

    def _joined(self, values: Sequence[Json], between: Json) -> str:
        texts = [value for value in values if isinstance(value, str)]
        if len(texts) != len(values) or not isinstance(between, str):
            raise _UnreadableScript
        if sum(map(len, texts)) + len(between) * len(texts) > CHARS_MAX:
            raise _UnreadableScript  # a text that is put together with itself again and again
        return between.join(texts)


def _unescaped(text: str) -> str:
    plain_text = _ESCAPE.sub(_escaped, text)
    return plain_text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _escaped(found: re.Match[str]) -> str:
    number = found[1] or found[2] or found[3]
    if number is None:
        return _PLAIN.get(found[4], found[4])
    return chr(min(int(number, 16), 0x10FFFF))
