"""Files that a shell command certainly writes, by its own text: here-documents, ``tee``, ``echo``, ``printf``.

Pure and careful: a name or a text with an expansion gives nothing, and neither does a command after ``

`` or inside ``if``, loops and functions. Edits in place (``sed -i``) are skipped: their text does not show the changed
lines.
"""

import posixpath
import re
from collections.abc import Iterator

from msgspec import Struct, field

from custody.core.patterns import lazy_pattern

COMMAND_CHARS_MAX = 1 << 20
SHORTENED_CHARS_MAX = 1 << 16
DEPTH_MAX = 20
"""Maximum nesting of substitutions."""

_OPENERS = frozenset("if for while until case select { function [[ ((".split())
_CLOSERS = frozenset("fi done esac }".split())
_OTHER_WORDS = frozenset("then else elif do ! time coproc in".split())
_HARMLESS = frozenset(("cd", "mkdir", "cat", "tee", "echo", "printf", "set", "export", "touch", ":", "true", "pwd"))
"""Commands that practically never stop the next command."""
_ENDS = frozenset(("exit", "return", "exec"))
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*\+?=")
_EXPANDS = lazy_pattern(r"\$[A-Za-z_({@*#?!0-9$'\"-]|`")
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_BREAKS = " \t\n;&|<>()"
_REDIRECT = lazy_pattern(r"(\d?)(>>|>\||>&|&>>|&>|>|<<<|<<-|<<|<&|<)")


class Write(Struct, frozen=True):
    """A text that a command writes to a file, whole or appended; ``sure``: even if a later command failed."""

    path: str
    text: str
    append: bool
    sure: bool


def parse_shell_writes(command: str) -> tuple[Write, ...]:
    """Return the texts that ``command`` writes to files, in order; paths are relative to its working folder.

    >>> parse_shell_writes("cat > a.txt <<'END'\\nhello $USER\\nEND\\n")
    (Write(path='a.txt', text='hello $USER\\n', append=False, sure=True),)
    """
    if len(command) > COMMAND_CHARS_MAX or not any(mark in command for mark in (">", "tee")):
        return ()
    try:
        steps = _ShellScanner(command).steps("")
    except _UnreadableCommand:
        return ()
    return tuple(_ShellRun().run_steps(steps))


class _UnreadableCommand(Exception):
    """The command cannot be parsed."""


class _Word(Struct, frozen=True):
    """A word as the shell would pass it; ``text`` is None if something in it expands."""

    text: str | None
    quoted: bool = False


class _HereDocument(Struct):
    """A here-document: its end word, whether it expands, and its text once it is read."""

    end: str
    literal: bool
    tabs: bool
    text: str | None = None


class _Step(Struct):
    """A simple command: its operator, words, output and input."""

    joined: str
    words: list[_Word] = field(default_factory=list)
    out: list[tuple[str, _Word]] = field(default_factory=list)
    here: _HereDocument | None = None
    piped: bool = False
    """Whether its output goes to the next command."""
    inner: "list[_Step] | None" = None
    """The steps of a subshell."""
    follow: str = ""
    """The operator after it; empty at the end."""

    def __bool__(self) -> bool:
        return bool(self.words or self.out or self.here or self.inner is not None)


class _ShellScanner:
    """A scanner of one command."""

    def __init__(self, text: str, at: int = 0, depth: int = 0) -> None:
        self.text = text
        self.at = at
        self.depth = depth
        self.waiting: list[_HereDocument] = []
        if depth > DEPTH_MAX:
            raise _UnreadableCommand

    def steps(self, end: str) -> list[_Step]:
        """Return the commands up to ``end``, which is ``)`` inside a substitution or a subshell."""
        steps: list[_Step] = []
        step = _Step("")
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == end:
                self.at += 1
                return [*steps, step] if step else steps
            if (joint := self._joint()) is not None:
                if step:
                    step.piped, step.follow = joint == "|", joint
                    steps.append(step)
                # An empty line between two commands does not change their operator.
                step = _Step(joint if step or not steps or joint != ";" else step.joined)
            else:
                self._part(step)
        if end:
            raise _UnreadableCommand
        self._documents()
        return [*steps, step] if step else steps

    def _joint(self) -> str | None:
        """Return the operator between two commands, if it comes next."""
        two = self.text[self.at : self.at + 2]
        if two in ("&&", "||", "|&", ";;"):
            self.at += 2
            return two[0] if two in ("|&", ";;") else two
        character = two[0]
        if character == "\n":
            self.at += 1
            self._documents()
            return ";"
        if character in ";|" or (character == "&" and two != "&>"):
            self.at += 1
            return character
        return None

    def _part(self, step: _Step) -> None:
        character = self.text[self.at]
        if character in " \t":
            self.at += 1
        elif character == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
        elif character == "(":
            if step.words:
                raise _UnreadableCommand  # a function, or an array
            inner = _ShellScanner(self.text, self.at + 1, self.depth + 1)
            step.inner = inner.steps(")")
            self.at = inner.at
        elif character == ")":
            raise _UnreadableCommand
        elif match := _REDIRECT.match(self.text, self.at):
            self.at = match.end()
            self._redirect(step, match[1], match[2])
        else:
            step.words.append(self._word())

    def _redirect(self, step: _Step, number: str, operator: str) -> None:
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        word = self._word()
        if operator in ("<<", "<<-"):
            if word.text is None:
                raise _UnreadableCommand
            step.here = _HereDocument(word.text, word.quoted, operator == "<<-")
            self.waiting.append(step.here)
        elif operator in (">", ">>", ">|") and number in ("", "1"):
            step.out.append((operator[:2] if operator == ">>" else ">", word))
        elif operator in ("&>", "&>>") or (operator == ">&" and not (word.text or "").isdigit() and word.text != "-"):
            step.out.append((">", _Word(None)))

    def _documents(self) -> None:
        """Read the here-documents that were announced on the line before."""
        for here in self.waiting:
            lines: list[str] = []
            while (line := self._line(here.tabs)) != here.end:
                lines.append(line)
            here.text = _join_here_document(lines, here.literal)
        self.waiting = []

    def _line(self, tabs: bool) -> str:
        if self.at >= len(self.text):
            raise _UnreadableCommand  # a here-document without its end
        end = self.text.find("\n", self.at)
        line = self.text[self.at : end if end >= 0 else len(self.text)]
        self.at = end + 1 if end >= 0 else len(self.text)
        return line.lstrip("\t") if tabs else line

    def _word(self) -> _Word:
        parts: list[str] = []
        known, quoted, start = True, False, self.at
        while self.at < len(self.text) and self.text[self.at] not in _BREAKS:
            character = self.text[self.at]
            if character == "'":
                quoted = True
                parts.append(self._until_quote())
            elif character == '"':
                quoted = True
                text = self._double()
                known = known and text is not None
                parts.append(text or "")
            elif character == "\\":
                quoted = True
                following = self.text[self.at + 1 : self.at + 2]
                parts.append("" if following == "\n" else following)
                self.at += 2
            elif character in "$`":
                known = self._substitution() and known
                parts.append("$")
            else:
                # Globs, braces and a home folder expand; so does history, but not in a script.
                known = known and character not in "*?[]{}" and not (character == "~" and self.at == start)
                parts.append(character)
                self.at += 1
        if self.at == start:
            raise _UnreadableCommand
        return _Word("".join(parts) if known or (parts in (["{"], ["}"]) and not quoted) else None, quoted)

    def _until_quote(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise _UnreadableCommand
        text = self.text[self.at + 1 : end]
        self.at = end + 1
        return text

    def _double(self) -> str | None:
        """Return a text in double quotes; None if something in it expands."""
        self.at += 1
        parts: list[str] = []
        known = True
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == '"':
                self.at += 1
                return "".join(parts) if known else None
            if character == "\\" and self.text[self.at + 1 : self.at + 2] in ("$", "`", '"', "\\", "\n"):
                following = self.text[self.at + 1]
                parts.append("" if following == "\n" else following)
                self.at += 2
            elif character in "$`":
                known = self._substitution() and known
                parts.append("$")
            else:
                parts.append(character)
                self.at += 1
        raise _UnreadableCommand

    def _substitution(self) -> bool:
        """Skip an expansion that ``$`` or a backtick starts; return True if the character stands for itself."""
        if self.text[self.at] == "`":
            end = self.text.find("`", self.at + 1)
            if end < 0:
                raise _UnreadableCommand
            self.at = end + 1
            return False
        following = self.text[self.at + 1 : self.at + 2]
        if following == "(":
            inner = _ShellScanner(self.text, self.at + 2, self.depth + 1)
            inner.steps(")")
            self.at = inner.at
            return False
        if following == "{":
            end = self.text.find("}", self.at)
            if end < 0:
                raise _UnreadableCommand
            self.at = end + 1
            return False
        expands = _EXPANDS.match(self.text, self.at) is not None
        self.at += 1
        if following == "'" and expands:
            raise _UnreadableCommand  # $'…' has its own rules
        return not expands


def _join_here_document(lines: list[str], literal: bool) -> str | None:
    """Return the text of a here-document; None if something in it expands."""
    text = "".join(f"{line}\n" for line in lines)
    if literal:
        return text
    parts = re.split(r"(\\[$`\\\n])", text)
    if any(_EXPANDS.search(part) for part in parts[::2]):
        return None
    return "".join(part if n % 2 == 0 else part[1:].replace("\n", "") for n, part in enumerate(parts))


class _ShellRun:
    """Runs the steps as the shell would, as far as that is known."""

    def __init__(self, folder: str | None = "", *, sure: bool = True) -> None:
        self.folder = folder
        """Relative to the command's working folder; None if it is unknown."""
        self.sure = sure
        self.inside = 0

    def run_steps(self, steps: list[_Step]) -> Iterator[Write]:
        """Yield the writes of the steps."""
        for n, step in enumerate(steps):
            name = step.words[0].text if step.words else None
            if name in _OPENERS or name in _CLOSERS or name in _OTHER_WORDS:
                self.inside += (name in _OPENERS) - (name in _CLOSERS)
                self.sure = False
                continue
            if name in _ENDS and step.joined != "||":
                return
            yield from self._step(step, steps[n + 1] if step.piped and n + 1 < len(steps) else None)

    def _step(self, step: _Step, reader: _Step | None) -> Iterator[Write]:
        if step.inner is not None:
            inner = _ShellRun(self.folder, sure=self.sure)
            if not self.inside and step.joined != "||":
                yield from inner.run_steps(step.inner)
            self.sure = False
            return
        words = _drop_shell_assignments(step.words)
        name = words[0].text if words else ""
        if name in ("cd", "pushd", "popd"):
            self._enter(step, words)
        elif not self.inside and step.joined not in ("||", "|"):
            yield from self._find_step_writes(step, words, reader)
        if name not in _HARMLESS:
            self.sure = False

    def _enter(self, step: _Step, words: list[_Word]) -> None:
        names = [word.text for word in words[1:] if word.text != "--"]
        target = names[0] if len(names) == 1 else None
        known = words[0].text == "cd" and not self.inside and step.joined not in ("||", "|") and not step.piped
        if not known or target is None or target.startswith("-") or self.folder is None:
            self.folder = None
        else:
            self.folder = posixpath.normpath(posixpath.join(self.folder, target))

    def _find_step_writes(self, step: _Step, words: list[_Word], reader: _Step | None) -> Iterator[Write]:
        if reader is not None:
            into = _drop_shell_assignments(reader.words)
            text = _predict_shell_output(step, words) if not step.out else None
            if text is not None and into and into[0].text == "tee" and not reader.piped and not reader.here:
                yield from self._tee(into, text)
            return
        if words and words[0].text == "tee" and step.here is not None:
            if step.here.text is not None:
                yield from self._tee(words, step.here.text)
            return
        if step.out and not step.piped and (text := _predict_shell_output(step, words)) is not None:
            operator, target = step.out[-1]
            yield from self._make_write(target, text, append=operator == ">>")

    def _tee(self, words: list[_Word], text: str) -> Iterator[Write]:
        append = any(word.text in ("-a", "--append") for word in words[1:])
        for word in words[1:]:
            if word.text is None or not word.text.startswith("-"):
                yield from self._make_write(word, text, append=append)

    def _make_write(self, target: _Word, text: str, *, append: bool) -> Iterator[Write]:
        if not target.text or target.text.startswith("/dev/"):
            return
        if self.folder is None and not target.text.startswith("/"):
            return
        path = posixpath.normpath(posixpath.join(self.folder or "", target.text))
        yield Write(path, text, append, self.sure)


def _drop_shell_assignments(words: list[_Word]) -> list[_Word]:
    for n, word in enumerate(words):
        if word.text is None or not _ASSIGNMENT.match(word.text):
            return words[n:]
    return []


def _predict_shell_output(step: _Step, words: list[_Word]) -> str | None:
    """Return a command's output, if its own text shows it."""
    texts = [word.text for word in words]
    if not texts or None in texts:
        return None
    known = [text for text in texts if text is not None]
    if known[0] == "cat":
        plain = step.here is not None and known[1:] in ([], ["-"])
        return step.here.text if plain and step.here is not None else None
    if step.here is not None:
        return None
    if known[0] == "echo":
        return _predict_echo_output(known[1:])
    return _predict_printf_output(known[1:]) if known[0] == "printf" else None


def _predict_echo_output(words: list[str]) -> str | None:
    end = "\n"
    if words[:1] == ["-n"]:
        words, end = words[1:], ""
    # Shells differ in their treatment of backslashes and options.
    if any("\\" in word for word in words) or (words and re.fullmatch("-[neE]+", words[0])):
        return None
    return " ".join(words) + end


def _predict_printf_output(words: list[str]) -> str | None:
    if not words or words[0].startswith("-"):
        return None
    shape = _unescape_printf_format(words[0])
    if shape is None:
        return None
    holes = re.findall("%.?", shape)
    if not holes:
        return shape
    if holes == ["%%"] * len(holes):
        return shape.replace("%%", "%")
    if holes != ["%s"]:
        return None
    return "".join(shape.replace("%s", word) for word in words[1:] or [""])


def _unescape_printf_format(text: str) -> str | None:
    parts = re.split(r"\\(.?)", text, flags=re.DOTALL)
    if any(part not in _ESCAPES for part in parts[1::2]):
        return None
    return "".join(part if n % 2 == 0 else _ESCAPES[part] for n, part in enumerate(parts))


class ShellCommand(Struct, frozen=True):
    """A simple command: its words (None for a word that expands), and its here-document.

    ``alone``: it is the only command and all of its output was shown; ``shown``: its output goes to no file.
    """

    words: tuple[str | None, ...]
    here: str | None
    alone: bool
    shown: bool


def parse_shell_commands(command: str) -> tuple[ShellCommand, ...] | None:
    """Return every simple command in ``command``, run or not; None if it cannot be parsed.

    >>> parse_shell_commands("cd src && curl -f https://example.org/a")[1].words
    ('curl', '-f', 'https://example.org/a')
    """
    if len(command) > COMMAND_CHARS_MAX:
        return None
    try:
        steps = list(_flatten_shell_steps(_ShellScanner(command).steps("")))
    except _UnreadableCommand:
        return None
    return tuple(
        ShellCommand(
            tuple(word.text for word in _drop_shell_assignments(step.words)),
            None if step.here is None else step.here.text,
            alone=len(steps) == 1 and not step.out and not step.piped,
            shown=not step.out,
        )
        for step in steps
    )


def _flatten_shell_steps(steps: list[_Step]) -> Iterator[_Step]:
    for step in steps:
        if step.inner is not None:
            yield from _flatten_shell_steps(step.inner)
        yield step


class ShellStep(Struct, frozen=True):
    """A simple command or a subshell with its operators: ``before`` and ``after`` it, empty at the ends.

    ``words`` start after assignments; None is a word that expands. ``hidden``: its output goes to a file. ``inner`` are
    the steps of a subshell.
    """

    words: tuple[str | None, ...]
    before: str
    after: str
    hidden: bool = False
    inner: "tuple[ShellStep, ...]" = ()


def parse_shell_steps(command: str) -> tuple[ShellStep, ...] | None:
    """Return the steps of ``command`` in order, with their operators; None if it cannot be parsed.

    >>> [(step.words, step.after) for step in parse_shell_steps("FOO=1 make test | tail -5 &")]
    [(('make', 'test'), '|'), (('tail', '-5'), '&')]
    """
    if len(command) > COMMAND_CHARS_MAX:
        return None
    try:
        steps = _ShellScanner(command).steps("")
    except _UnreadableCommand:
        return None
    return _freeze_shell_steps(steps)


def _freeze_shell_steps(steps: list[_Step]) -> tuple[ShellStep, ...]:
    return tuple(
        ShellStep(
            tuple(word.text for word in _drop_shell_assignments(step.words)),
            step.joined,
            step.follow,
            bool(step.out),
            () if step.inner is None else _freeze_shell_steps(step.inner),
        )
        for step in steps
    )


_HERE_TEXT = lazy_pattern(r"(<<-?[ \t]*([\"']?)(\w{1,60})\2[^\n]*\n).*?^([ \t]*\3[ \t]*)$", re.DOTALL | re.MULTILINE)


def shorten_shell_command(command: str, most: int) -> str:
    """Return the command, if it is longer than ``most`` without the texts of here-documents, and cut.

    >>> shorten_shell_command("cat > a <<E\\n" + "x\\n" * 50 + "E\\nls", 40)
    'cat > a <<E\\nE\\nls'
    """
    if len(command) <= most:
        return command
    return _HERE_TEXT.sub(r"\1\4", command[:SHORTENED_CHARS_MAX])[:most]
