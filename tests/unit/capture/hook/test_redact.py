"""Secrets are redacted, lines and harmless words stay, and the scan finds everything that would be redacted."""

import json
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.redaction_corpus.frame import harmless_texts, samples
from bench.redaction_corpus.harmless import HARMLESS
from bench.redaction_corpus.seen import KINDS
from custody.capture.hook import secret_scan as trip
from custody.capture.hook.redact import compute_redacted_line_mac, redact_text, redact_value
from custody.capture.hook.secret_scan import has_possible_secret

KEY = b"k" * 32
TOKEN = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_kind_is_found_and_redacted(kind: object) -> None:
    for sample in samples(kind, 3, 3):  # type: ignore[arg-type]
        event = {"tool_input": {"content": sample.text}}
        assert has_possible_secret(json.dumps(event).encode())
        clean, marks = redact_value(event, KEY)
        assert marks
        for secret in sample.secrets:
            assert secret not in clean["tool_input"]["content"]


@pytest.mark.parametrize("kind", HARMLESS, ids=lambda kind: kind.name)
def test_ids_and_hashes_stay_whole(kind: object) -> None:
    for harmless in harmless_texts(kind, 3, 2):  # type: ignore[arg-type]
        clean, _ = redact_text(harmless.text)
        for kept in harmless.kept:
            assert kept in clean


@given(st.sampled_from(KINDS), st.integers(0, 10_000))
def test_redacting_again_changes_nothing_and_lines_stay(kind: object, seed: int) -> None:
    (sample,) = samples(kind, seed, 1)  # type: ignore[arg-type]
    clean, lines = redact_text(sample.text)
    assert clean.count("\n") == sample.text.count("\n")
    assert redact_text(clean)[0] == clean
    before, after = sample.text.split("\n"), clean.split("\n")
    assert all(one == other for n, (one, other) in enumerate(zip(before, after, strict=True)) if n not in lines)


@given(st.text())
def test_any_text_keeps_its_lines(text: str) -> None:
    clean, lines = redact_text(text)
    assert clean.count("\n") == text.count("\n")
    assert (clean == text) is not bool(lines)


def test_a_mark_has_the_place_and_only_this_machine_can_match_it() -> None:
    clean, marks = redact_value({"a": [f"one\ntoken = '{TOKEN}'\nthree"]}, KEY)
    assert clean["a"][0].split("\n")[::2] == ["one", "three"]
    assert [(mark["at"], mark["line"]) for mark in marks] == [("/a/0", 2)]
    assert marks[0]["mac"] == compute_redacted_line_mac(KEY, f"token = '{TOKEN}'")
    assert marks[0]["mac"] != compute_redacted_line_mac(b"x" * 32, f"token = '{TOKEN}'")


def test_a_name_beside_a_value_marks_it_as_a_secret() -> None:
    clean, marks = redact_value({"password": "hunter2-Zq8", "user": "ana"}, KEY)
    assert (clean["user"], len(marks)) == ("ana", 1)
    assert "hunter2" not in clean["password"]


@pytest.mark.parametrize("text", ["contraseña=\t\nx", "mot de passe =\t"])
def test_a_sentence_may_end_before_its_value(text: str) -> None:
    assert not has_possible_secret(json.dumps({"a": text}, ensure_ascii=False).encode())
    assert redact_text(text) == (text, ())


def test_escapes_do_not_hide_a_secret() -> None:
    for text in (TOKEN, f'a\n"{TOKEN}"', f"x\\/{TOKEN}"):
        assert has_possible_secret(json.dumps({"a": text}).encode())
        assert has_possible_secret(json.dumps({"a": text}, ensure_ascii=False).encode())


@pytest.mark.parametrize(
    "harmless",
    [
        "password: str",
        "token = os.environ['TOKEN']",
        "def get_token(self) -> str:",
        "secret = getpass()",
        "api_key=None",
    ],
)
def test_code_about_secrets_is_not_redacted(harmless: str) -> None:
    assert redact_text(harmless) == (harmless, ())


def test_a_large_text_takes_a_bounded_number_of_steps() -> None:
    chance = Random(1)
    text = "\n".join("".join(chance.choices("abc def(x) = 1;", k=80)) for _ in range(20_000)) + f"\ntoken = '{TOKEN}'\n"
    clean, lines = redact_text(text)
    assert lines == (20_000,)
    assert TOKEN not in clean


@pytest.mark.parametrize(
    "text",
    [
        "password: correct horse battery staple",
        "  db_password: correct horse battery staple\nport: 1",
        "DB_PASSWORD=correct horse battery staple\n",
        "     7\u2192password: correct horse battery staple\n",
        '{"passphrase": "four words like these"}',
        "password = 'correct horse battery staple 42'",
        '"secret": "correct horse battery staple"',
    ],
)
def test_a_pass_phrase_is_redacted_as_a_whole(text: str) -> None:
    assert all(
        has_possible_secret(json.dumps({"a": text}, ensure_ascii=ascii_only).encode()) for ascii_only in (True, False)
    )
    clean, lines = redact_text(text)
    assert len(lines) == 1
    assert not {"correct", "horse", "battery", "staple", "four", "words", "these"}.intersection(clean.split())


@pytest.mark.parametrize(
    "harmless",
    [
        "password: the user's password",
        "password: plain text sent over a secure channel",
        'password: "Must be at least eight characters"',
        '"token": "some words that are none"',
        "secret: shared between both of them",
        "'passphrase': 'does not match'",
    ],
)
def test_prose_about_passwords_is_not_a_pass_phrase(harmless: str) -> None:
    assert redact_text(harmless) == (harmless, ())


def test_caches_are_empty_after_redacting_an_event() -> None:
    event = {"a": f"token = '{TOKEN}'"}
    assert has_possible_secret(json.dumps(event).encode())
    redact_value(event, KEY)
    assert not trip._random_parts
    assert not trip._strengths


def test_many_short_texts_are_redacted_as_one_long_one() -> None:
    lines = [f"line {n}: x = {n}" for n in range(300)] + [f"token = '{TOKEN}'"]
    clean, marks = redact_value({"lines": lines}, KEY)
    assert clean["lines"][:-1] == lines[:-1]
    assert [mark["at"] for mark in marks] == ["/lines/300"]


def test_secrets_far_from_a_redaction_are_found() -> None:
    text = f"token = '{TOKEN}'\n" + "x = 1\n" * 3000 + f"token = '{TOKEN[::-1]}'\npassword: 'Zq8-hunter2'\n"
    clean, lines = redact_text(text)
    assert redact_text(clean) == (clean, ())
    assert lines == (0, 3001, 3002)


def test_an_id_after_an_escaped_line_end_stays() -> None:
    text = f"token = '{TOKEN}'\\n24e1904c-a804-416b-8803-c8c68643ad5d"
    assert redact_text(text)[0].endswith("\\n24e1904c-a804-416b-8803-c8c68643ad5d")
