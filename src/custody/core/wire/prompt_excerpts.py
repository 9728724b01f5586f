"""Excerpts of prompts that a team publishes: at most 300 characters each, as a file that is shared with a chain.

An excerpt is for readers. No verdict uses it, so a false one makes nothing milder.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from custody.core.errors import InputError
from custody.core.ids import StoreId
from custody.core.wire.canonical import describe_conversion_error, dump_canonical_json, parse_json_bytes

EXCERPT_CHARACTERS_MAX = 300
EXCERPTS_MAX = 5_000
"""Excerpts that are shared with one chain; the latest prompts come first."""
EXCERPTS_BYTES_MAX = 16 * 1024 * 1024
NOT_OURS = "custody did not write this"
READ_AHEAD = 8
"""Characters that are read for each one shown, since white space is collapsed."""

ExcerptName = Annotated[str, Meta(min_length=1, max_length=1_000)]


class PromptExcerpt(Struct, frozen=True, forbid_unknown_fields=True):
    """The beginning of one prompt of an agent's session."""

    agent: ExcerptName
    session: ExcerptName
    prompt: ExcerptName
    text: Annotated[str, Meta(min_length=1, max_length=EXCERPT_CHARACTERS_MAX)]

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what identifies the prompt in its chain."""
        return self.agent, self.session, self.prompt


class PromptExcerpts(Struct, frozen=True, forbid_unknown_fields=True):
    """The excerpts that the owner of a chain publishes."""

    custody: Literal[1]
    store: Annotated[str, Meta(pattern=r"^[0-9a-f]{32}$(?!\n)")]
    excerpts: Annotated[tuple[PromptExcerpt, ...], Meta(max_length=EXCERPTS_MAX)]


def excerpt_prompt(text: str) -> str:
    """Return the beginning of a prompt on one line, at most 300 characters.

    >>> excerpt_prompt("Add a test.\\n\\n  Then   run it.")
    'Add a test. Then run it.'
    >>> len(excerpt_prompt("x" * 1_000_000)), excerpt_prompt("x" * 301)[-2:]
    (300, 'x…')
    """
    read = EXCERPT_CHARACTERS_MAX * READ_AHEAD
    flat = " ".join(text[:read].split())
    if len(flat) <= EXCERPT_CHARACTERS_MAX and len(text) <= read:
        return flat
    return f"{flat[: EXCERPT_CHARACTERS_MAX - 1]}…"


def encode_prompt_excerpts(store: StoreId, excerpts: tuple[PromptExcerpt, ...]) -> bytes:
    """Return the canonical bytes of the file; none without excerpts."""
    if not excerpts:
        return b""
    return dump_canonical_json(msgspec.to_builtins(PromptExcerpts(1, store, excerpts))) + b"\n"


def decode_prompt_excerpts(data: bytes, store: StoreId) -> tuple[PromptExcerpt, ...]:
    """Decode the file of a chain; an ``InputError`` for anything else. Empty data has none."""
    if not data:
        return ()
    try:
        found = msgspec.convert(parse_json_bytes(data, bytes_max=EXCERPTS_BYTES_MAX), PromptExcerpts)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        raise InputError(
            f"cannot read the excerpts of prompts: {describe_conversion_error(error)}",
            hint="custody did not write this",
        ) from error
    if found.store != store:
        raise InputError("excerpts of prompts of another chain", hint=NOT_OURS)
    return found.excerpts
