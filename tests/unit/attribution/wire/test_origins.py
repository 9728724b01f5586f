"""Shared outlines and origins are decoded unchanged, hold no text, and invalid data is rejected."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.attribution.wire import (
    FileOrigins,
    StateOrigin,
    decode_line_origins,
    encode_line_origins,
    pack_origin_keys,
    unpack_origin_keys,
    unpack_state_origins,
)
from custody.core.errors import InputError
from custody.core.ids import AgentName, CallId, ExecutionId, PromptId, SessionId, SpanId, digest_from_bytes
from custody.core.paths import Lines, RepoPath
from custody.core.views import FileEdit, Observation, ObservedSpan, Prompt, SpanKind, SpanPhase, Text, ToolCall, View
from custody.core.wire.body import VIEWS, decode_view_outline, encode_view_outline
from tests.builders.table import table

WORDS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
TEXTS = WORDS.map(lambda text: Text(digest_from_bytes(text.encode()), text))
AGENT, SESSION = AgentName("robot"), SessionId("s")
KEYS = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3), max_size=12)

EDITS = st.builds(
    FileEdit,
    agent=WORDS.map(AgentName),
    session=WORDS.map(SessionId),
    id=WORDS,
    path=st.binary(min_size=1, max_size=6).filter(lambda raw: not set(raw) & set(b"\0/.")).map(RepoPath),
    at_ns=st.integers(-(2**63), 2**63 - 1),
    before=st.none() | TEXTS,
    after=st.none() | TEXTS,
    lines=st.lists(st.integers(1, 9).map(lambda n: Lines(n, n + 1)), max_size=2).map(tuple),
    part=st.booleans(),
)
PROMPTS = st.builds(
    Prompt,
    agent=WORDS.map(AgentName),
    session=WORDS.map(SessionId),
    id=WORDS.map(PromptId),
    at_ns=st.just(1),
    text=TEXTS,
)


def test_every_view_has_a_fixed_name_in_outlines() -> None:
    assert set(VIEWS.values()) == set(View.__args__) and len(VIEWS) == len(View.__args__)
    assert set(VIEWS) == set(
        "Session Prompt ToolCall CommandRecord FileEdit TracedFile SourceRead CommitLink PullRequestFact CommitSeen"
        " Decision DuplicateAnswer HunkRead AuthorClaim Source Change FileState SpanSeen Observation".split()
    )


@given(st.lists(EDITS | PROMPTS, max_size=3).map(tuple))
def test_an_outline_is_the_views_without_their_texts(views: tuple[View, ...]) -> None:
    outline = encode_view_outline(views)
    again = decode_view_outline(outline)
    assert encode_view_outline(again) == outline
    for view, decoded in zip(views, again, strict=True):
        assert type(view) is type(decoded)
        for name in ("before", "after", "text"):
            was, now = getattr(view, name, None), getattr(decoded, name, None)
            assert now == (None if was is None else Text(was.digest, None))
        assert [getattr(one, "agent", None) for one in (view, decoded)] == [getattr(view, "agent", None)] * 2


def test_attributes_of_a_span_that_may_be_text_are_not_shared() -> None:
    span = ObservedSpan(
        ExecutionId("e"),
        SpanId("1"),
        SpanPhase.WHOLE,
        "chat",
        SpanKind.LLM,
        1,
        attributes=(("model", "m"), ("prompt", "a secret"), ("tokens", 3)),
    )
    (decoded,) = decode_view_outline(encode_view_outline((span,)))
    assert isinstance(decoded, ObservedSpan)
    assert decoded.attributes == (("model", "m"), ("tokens", 3))


def test_default_values_are_not_written() -> None:
    call = ToolCall(AGENT, SESSION, CallId("c"), "Edit", 5)
    assert (
        encode_view_outline((call,))
        == b'[{"agent":"robot","id":"c","name":"Edit","session":"s","started_ns":5,"view":"ToolCall"}]'
    )
    assert decode_view_outline(encode_view_outline((call, Observation(AGENT, SESSION, "x", 1))))[0] == call


@table(
    "data",
    [
        b"{}",
        b"[3]",
        b"[{}]",
        b'[{"view":"Nothing"}]',
        b'[{"view":"Prompt"}]',
        b'[{"view":"Observation","agent":"a","session":"s","event":"e","at_ns":"1"}]',
        b'[{"view":"Observation","agent":"a","session":"s","event":"e","at_ns":1,"more":1}]',
        b'[{"view":"Prompt","agent":"a","session":"s","id":"p","at_ns":1,"text":{"digest":"eA==","content":"text"}}]',
        b'[{"view":"FileEdit","agent":"a","session":"s","id":"p","at_ns":1,"path":{"raw":"Li4veA=="}}]',
        b"[",
        b"\xff",
    ],
)
def test_an_invalid_outline_is_rejected(data: bytes) -> None:
    with pytest.raises(InputError):
        decode_view_outline(data)


@given(KEYS, KEYS)
def test_keys_are_unpacked_unchanged(keys: list[int], last: list[int]) -> None:
    same = [(0, 0, 1)] if keys and last and keys[0] == last[0] else []
    assert unpack_origin_keys(pack_origin_keys(keys, same), last) == keys


def a_state(**fields: object) -> StateOrigin:
    defaults: dict[str, object] = {
        **dict.fromkeys(("session", "call", "revision")),
        "seq": 1,
        "n": 0,
        "at_ns": 1,
        "observed": "o",
        "agent": "a",
        "kind": "edit",
        "keys": pack_origin_keys([1, 2], []),
        "before": [],
        "runs": [(2, "", 0.0)],
        "brought": "",
        "order": 1,
    }
    return StateOrigin(**{**defaults, **fields})  # type: ignore[arg-type]


def test_origins_are_decoded_unchanged() -> None:
    decoded = FileOrigins(1, "a/caf\udce9.py", [a_state(), a_state(seq=2, keys=[(0, 2)], order=2)], [])
    assert decode_line_origins(encode_line_origins(decoded)) == decoded
    assert [keys for _, keys, _ in unpack_state_origins(decoded)] == [[1, 2], [1, 2]]


@pytest.mark.parametrize(
    "state",
    [
        a_state(runs=[(1, "", 0.0)]),
        a_state(keys=[(0, 1)]),
        a_state(keys=["eA=="]),
        a_state(keys=["!"]),
        a_state(before=[(0, 9)]),
    ],
)
def test_origins_that_do_not_match_their_state_are_rejected(state: StateOrigin) -> None:
    with pytest.raises(InputError):
        list(unpack_state_origins(FileOrigins(1, "a", [state], [])))


@pytest.mark.parametrize("data", [b"{}", b"[]", b'{"version":2,"path":"a","states":[],"likes":[]}', b"x"])
def test_invalid_origins_are_rejected(data: bytes) -> None:
    with pytest.raises(InputError):
        decode_line_origins(data)


def test_origins_of_a_path_outside_are_rejected() -> None:
    with pytest.raises(InputError):
        decode_line_origins(encode_line_origins(FileOrigins(1, "../x", [], [])))
