"""``custody gate --format statement`` and ``custody verify --verdict`` as a user sees them."""

import json
from pathlib import Path

import pytest

from tests.builders.in_process import custody
from tests.builders.verdicts import Court, Key, a_key


@pytest.fixture
def court(tmp_path: Path) -> Court:
    return Court(tmp_path / "repository").proven().edited()


@pytest.fixture
def key(tmp_path: Path) -> Key:
    return a_key(tmp_path / "keys")


def test_from_the_gate_to_the_check(court: Court, key: Key, tmp_path: Path) -> None:
    out = tmp_path / "verdict.json"
    words = ("gate", f"{court.base}..{court.head}", "--format", "statement", "--sign-key", str(key.private))
    ran = custody(court.folder, *words, "--out", str(out))
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(f"! NEEDS REVIEW  {court.base}..{court.head}  +"), (
        "who writes a file is still told the verdict"
    )
    assert set(json.loads(out.read_bytes())) == {"payload", "payloadType", "signatures"}
    court.happens("rejected")
    public = str(key.private.with_suffix(".pub"))
    ran = custody(court.folder, "verify", "--verdict", str(out), "--key", public)
    assert (ran.status, ran.err) == (0, "")
    unseen, holds = ran.out.splitlines()
    assert unseen == "1 older record here, not used by the verdict"
    assert holds.startswith(f"OK: the verdict is valid: review for {court.head[:12]} as of 20")
    assert ", signed by key (SHA256:" in holds


def test_json_and_pipes(court: Court) -> None:
    given = custody(court.folder, "gate", court.base, "--format", "statement")
    assert given.status == 0 and given.out.endswith("}\n")
    plain = court.folder.parent / "plain.json"
    ran = custody(court.folder, "gate", court.base, "--json", "--out", str(plain))
    assert ran.status == 0
    ran = custody(court.folder, "verify", "--verdict", "-", "--json", stdin=plain.read_text())
    report = json.loads(ran.out)
    assert (ran.status, report["report"], report["again"], report["findings"]) == (
        0,
        "verify-verdict",
        "identical",
        [],
    )
    assert report["signature"] == {"state": "none", "keyid": None, "signer": None}


def test_what_does_not_hold_is_status_1(court: Court, key: Key, tmp_path: Path) -> None:
    plain = tmp_path / "plain.json"
    custody(court.folder, "gate", court.base, "--json", "--out", str(plain))
    assert custody(court.folder, "verify", "--verdict", str(plain)).status == 0
    ran = custody(court.folder, "verify", "--verdict", str(plain), "--key", str(key.private.with_suffix(".pub")))
    assert ran.status == 1
    assert ran.out.startswith(
        "signature_missing  the verdict is not signed\nFAILED: the verdict is not valid: review for "
    )
    plain.write_text(plain.read_text().replace('"level":"review"', '"level":"approve"'))
    ran = custody(court.folder, "verify", "--verdict", str(plain))
    assert ran.status == 1
    assert [line.split()[0] for line in ran.out.splitlines()[:-1]].count("verdict_differs") >= 1


def test_a_block_is_status_1_in_every_shape(court: Court, tmp_path: Path) -> None:
    rules = b'[gate.levels]\nATTR-UNSEEN = "block"\n'
    court.lost()
    strict = court.built.commit(
        {b"custody.toml": rules + b"[gate]\ngap_hours_after = 99\n"}, court.base, ref="refs/heads/strict"
    )
    for more in ((), ("--out", str(tmp_path / "v.json"))):
        ran = custody(court.folder, "gate", f"{strict}..{court.head}", "--format", "statement", *more)
        assert (ran.status, ran.err) == (1, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("gate", "HEAD", "--sign-key", "k"), "--sign-key needs --format statement"),
        (("gate", "HEAD", "--out", "o"), "--out needs --json or --format"),
        (("gate", "HEAD~1", "--format", "statement", "--sign-key", "nowhere"), "cannot find the key 'nowhere'"),
        (("gate", "HEAD~1", "--json", "--out", "no/such/folder"), "cannot write 'no/such/folder'"),
        (("verify", "--key", "a.py"), "only --new, --span and --json work without --verdict"),
        (("verify", "--new", "--verdict", "a.py"), "--new, --span and --verdict are mutually exclusive"),
        (("verify", "--verdict", "a.py"), "'a.py': not JSON"),
        (("verify", "--verdict", "rubbish.json"), "'rubbish.json': invalid verdict of 'custody gate'"),
    ],
)
def test_what_makes_no_sense_is_the_callers_turn(court: Court, words: tuple[str, ...], said: str) -> None:
    (court.folder / "rubbish.json").write_text('{"report": "gate", "level": "approve"}')
    ran = custody(court.folder, *words)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {said}") and "\nhint: " in ran.err
