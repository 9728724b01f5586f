"""The prefilter passes no event that the scan for secrets would stop at, whatever it has seen before."""

import json
from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from bench.redaction_corpus.frame import harmless_texts, samples
from bench.redaction_corpus.harmless import HARMLESS
from bench.redaction_corpus.seen import KINDS
from custody.capture.hook.secret_scan import has_possible_secret
from custody.capture.secret_prefilter import SecretPrefilter

PIECES = (
    *(
        "password",
        "token:",
        "api_key",
        "secret",
        "login",
        "pass",
        "value",
        "key=",
        "x",
        " ",
        "\n",
        "\n\n",
        "\t",
        "\r\n",
    ),
    *('"""', "```", "[", "]", "<password>", "</", '"', "'", "=", ": ", ",", "\\", "\\\\n", "\0", "12. ", "://", "a:b@"),
    *(
        "kind",
        "kind: Secret",
        "curl",
        " -u",
        "docker",
        "seed phrase",
        "mot de passe",
        "пар",
        "оль",
        "密码",
        "eyJ",
        "ghp_",
    ),
    *(
        "hunter2",
        "x9Kq2LmZ81pQ",
        "A1b2C3d4E5f6G7h8I9j0K1l2M3n4",
        "Bearer",
        '{"name":"password","value":"hunter2x"}',
        "1e5",
    ),
)
NAMES = ("content", "password", "token", "value", "name", "kind", "api_key", "input_tokens")


def lines_of_corpus(seed: int) -> list[str]:
    secret = [sample.text for kind in KINDS for sample in samples(kind, seed, 1)]
    harmless = [text.text for kind in HARMLESS for text in harmless_texts(kind, seed, 1)]
    return [line for text in secret + harmless for line in text.split("\n")]


LINES = lines_of_corpus(5)
texts = st.lists(st.sampled_from(PIECES) | st.sampled_from(LINES), max_size=8).map("\n".join) | st.lists(
    st.sampled_from(PIECES), max_size=8
).map("".join)
values = st.dictionaries(
    st.sampled_from(NAMES), texts | st.lists(texts, max_size=2) | st.integers(0, 10**9), max_size=4
)


@given(st.lists(values, min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_what_the_scan_finds_is_never_passed(events: list[dict[str, object]], chance: Random) -> None:
    prefilter, encoded = SecretPrefilter(), [msgspec.json.encode(event) for event in events]
    for data in (*encoded, *chance.sample(encoded, len(encoded))):
        assert prefilter.may_have_secret(data) >= has_possible_secret(data)


@given(st.lists(values, max_size=5), st.lists(values, max_size=5))
def test_in_a_group_it_is_not_passed_either(before: list[dict[str, object]], events: list[dict[str, object]]) -> None:
    prefilter, encoded = SecretPrefilter(), [msgspec.json.encode(event) for event in events]
    for event in before:
        prefilter.may_have_secret(msgspec.json.encode(event))
    assert prefilter.may_any_have_secret(encoded) >= any(map(has_possible_secret, encoded))


def test_every_kind_of_secret_is_stopped_after_its_neighbors_were_passed() -> None:
    for seed in range(2):
        prefilter = SecretPrefilter()
        for text in (text.text for kind in HARMLESS for text in harmless_texts(kind, seed, 1)):
            prefilter.may_have_secret(json.dumps({"content": text}, ensure_ascii=False).encode())
        for kind in KINDS:
            for sample in samples(kind, seed, 1):
                data = json.dumps({"content": f"a\n{sample.text}\nb"}, ensure_ascii=False).encode()
                assert prefilter.may_have_secret(data) >= has_possible_secret(data), kind.name


def test_a_value_is_found_below_a_line_that_was_passed_before_another_one() -> None:
    prefilter = SecretPrefilter()
    lines = ['"name": "password",', '"value": "Tr0ub4dor&3x"', '"value": "none"']
    assert not prefilter.may_have_secret(msgspec.json.encode({"a": "\n".join((lines[0], lines[2]))}))
    assert prefilter.may_have_secret(msgspec.json.encode({"a": "\n".join((lines[0], lines[1]))}))


def test_a_line_is_scanned_again_below_another_line() -> None:
    prefilter = SecretPrefilter()
    assert not prefilter.may_have_secret(msgspec.json.encode({"a": "for bob\nmy pw Tul96\n"}))
    assert prefilter.may_have_secret(msgspec.json.encode({"a": "login bob\nmy pw Tul96\n"}))


def test_a_harmless_event_is_passed_each_time() -> None:
    prefilter = SecretPrefilter()
    data = msgspec.json.encode(
        {"tool": "Read", "text": "def f(x):\n    return x\n" * 50, "usage": {"input_tokens": 3, "a": 1}}
    )
    assert [prefilter.may_have_secret(data) for _ in range(3)] == [False] * 3
