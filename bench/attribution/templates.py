"""Generated source files and their changes: random, but realistic in size and shape."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

NOUNS = (
    "order customer invoice parcel ticket session token account payment refund shelf article batch delivery route "
    "warehouse discount coupon basket receipt ledger balance currency schedule reminder template webhook tenant quota"
).split()
VERBS = (
    "load store find merge split validate render parse archive restore cancel confirm assign release compute collect "
    "notify schedule export import_ compare normalise publish reserve settle audit"
).split()
ADJECTIVES = "open closed pending overdue active stale recent large small valid foreign duplicate late partial".split()
MODULES = "json logging math statistics hashlib itertools functools datetime pathlib decimal uuid secrets".split()
STEPS_MAX = 4


@dataclass
class Chunk:
    """A function: its head, its body, and how it ends."""

    head: str
    body: list[str]
    tail: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Return the function as text."""
        return [self.head, *self.body, *self.tail]


@dataclass
class Source:
    """A generated file: imports, then functions."""

    random: Random
    script: bool
    imports: list[str] = field(default_factory=list)
    chunks: list[Chunk] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Return the current text of the file."""
        gap = [""] if self.script else ["", ""]
        lines = list(self.imports)
        for chunk in self.chunks:
            lines += [*gap, *chunk.lines()]
        return "\n".join(lines) + "\n"

    def go_on(self) -> str:
        """Make some changes and return the file."""
        for _ in range(self.random.randint(1, STEPS_MAX)):
            change = self.random.choices([change for change, _ in CHANGES], [often for _, often in CHANGES])[0]
            change(self)
        return self.text


def a_source(random: Random, functions: int = 8) -> Source:
    """Return a new file in one of two languages."""
    source = Source(random, script=random.random() < 1 / 3)
    source.imports = [an_import(source) for _ in range(3)]
    source.chunks = [a_function(source) for _ in range(functions)]
    return source


def versions(random: Random, count: int) -> list[str]:
    """Return ``count`` versions of a file."""
    source = a_source(random)
    return [source.text, *(source.go_on() for _ in range(count - 1))]


def an_import(source: Source) -> str:
    """Return one import."""
    module = source.random.choice(MODULES)
    return f'import {{ {module} }} from "./{module}.js";' if source.script else f"import {module}"


def a_function(source: Source) -> Chunk:
    """Return a new function of a few statements."""
    random = source.random
    verb, noun, adjective = random.choice(VERBS), random.choice(NOUNS), random.choice(ADJECTIVES)
    count = random.randint(3, 9)
    body = [statement(source) for _ in range(count)]
    if source.script:
        head = f"export function {verb}{adjective.title()}{noun.title()}({noun}, options = {{}}) {{"
        return Chunk(head, body, [f"  return {noun};", "}"])
    head = f"def {verb}_{adjective}_{noun}({noun}: {noun.title()}, *, limit: int = {random.randint(1, 500)}) -> bool:"
    told = (
        f"{verb.title().rstrip('_')} every {adjective} {noun} that {random.choice(NOUNS)} {random.choice(NOUNS)} knows"
    )
    doc = f'    """{told}."""'
    return Chunk(
        head, [doc, *body], [random.choice(["    return True", "    return None", f"    return bool({noun})"])]
    )


def statement(source: Source) -> str:
    """Return one line of a body, indented."""
    often = SCRIPT_OFTEN if source.script else OFTEN
    if source.random.random() < SAME_AGAIN:
        return ("  " if source.script else "    ") + source.random.choice(often)
    made = source.random.choice(SCRIPT_STATEMENTS if source.script else STATEMENTS)(source.random)
    return ("  " if source.script else "    ") + made


def _n(random: Random) -> str:
    return random.choice(NOUNS)


SAME_AGAIN = 0.06
"""The share of very common statements."""
OFTEN = ("if not options: return None", "options = dict(options or {})", "started = time.monotonic()")
SCRIPT_OFTEN = ("if (!options) return null;", "const started = Date.now();")
STATEMENTS: tuple[Callable[[Random], str], ...] = (
    lambda r: f"{_n(r)}_{_n(r)} = {r.choice(VERBS)}_{_n(r)}({_n(r)}, {r.choice(ADJECTIVES)}={r.randint(2, 99)})",
    lambda r: f"logger.debug('%s {r.choice(ADJECTIVES)} {_n(r)} of %s', {_n(r)}, {_n(r)})",
    lambda r: f"{_n(r)}.{_n(r)}s.append({_n(r)}_{r.choice(ADJECTIVES)})",
    lambda r: f"raise ValueError('no {r.choice(ADJECTIVES)} {_n(r)} for this {_n(r)}')",
    lambda r: f"{_n(r)}s = sorted({_n(r)}s, key=lambda one: one.{_n(r)}_{_n(r)})",
    lambda r: f"assert {_n(r)} is not None",
    lambda r: f"total_{_n(r)} += {_n(r)}.{r.choice(ADJECTIVES)}_{_n(r)} * {r.randint(2, 9)}",
    lambda r: f"with {r.choice(VERBS)}_lock({_n(r)}.{_n(r)}_id): {r.choice(VERBS)}({_n(r)}, {_n(r)})",
    lambda r: (
        f"{_n(r)} = {r.choice(VERBS)}_{r.choice(ADJECTIVES)}_{_n(r)}({_n(r)}={_n(r)}_{_n(r)},"
        f" {_n(r)}={_n(r)}.{_n(r)}, timeout={r.randint(1, 60)})"
    ),
)
SCRIPT_STATEMENTS: tuple[Callable[[Random], str], ...] = (
    lambda r: f"const {_n(r)}{_n(r).title()} = {r.choice(VERBS)}{_n(r).title()}({_n(r)}, {r.randint(2, 99)});",
    lambda r: f"console.debug(`{r.choice(ADJECTIVES)} {_n(r)} of ${{{_n(r)}}}`);",
    lambda r: f"{_n(r)}.{_n(r)}s.push({{ {_n(r)}: {r.choice(ADJECTIVES)}{_n(r).title()} }});",
    lambda r: f"if (!{_n(r)}) throw new Error('no {r.choice(ADJECTIVES)} {_n(r)} here');",
    lambda r: f"await {r.choice(VERBS)}{_n(r).title()}(options.{_n(r)}, {{ retries: {r.randint(1, 9)} }});",
)


def _add_function(source: Source) -> None:
    source.chunks.insert(source.random.randint(0, len(source.chunks)), a_function(source))


def _delete_function(source: Source) -> None:
    if len(source.chunks) > STEPS_MAX:
        source.chunks.pop(source.random.randrange(len(source.chunks)))


def _insert_statement(source: Source) -> None:
    body = source.random.choice(source.chunks).body
    body.insert(source.random.randint(1, len(body)), statement(source))


def _replace_statement(source: Source) -> None:
    body = source.random.choice(source.chunks).body
    body[source.random.randrange(len(body))] = statement(source)


def _delete_statement(source: Source) -> None:
    body = source.random.choice(source.chunks).body
    if len(body) > STEPS_MAX:
        body.pop(source.random.randrange(1, len(body)))


def _change_a_word(source: Source) -> None:
    body = source.random.choice(source.chunks).body
    at = source.random.randrange(len(body))
    body[at] = body[at].replace(source.random.choice(NOUNS), source.random.choice(NOUNS))


def _rewrite_body(source: Source) -> None:
    chunk = source.random.choice(source.chunks)
    chunk.body = [chunk.body[0], *(statement(source) for _ in range(source.random.randint(2, 7)))]


def _put_under_condition(source: Source) -> None:
    body = source.random.choice(source.chunks).body
    if source.script or len(body) < STEPS_MAX:
        return
    first = source.random.randrange(1, len(body) - 1)
    noun, adjective = source.random.choice(NOUNS), source.random.choice(ADJECTIVES)
    body[first:] = [f"    if {noun}.is_{adjective}():", *(f"    {line}" for line in body[first:])]


def _add_import(source: Source) -> None:
    source.imports.append(an_import(source))


CHANGES: tuple[tuple[Callable[[Source], None], int], ...] = (
    (_add_function, 30),
    (_delete_function, 6),
    (_insert_statement, 20),
    (_replace_statement, 12),
    (_delete_statement, 8),
    (_change_a_word, 6),
    (_rewrite_body, 8),
    (_put_under_condition, 4),
    (_add_import, 6),
)
