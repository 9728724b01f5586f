"""Heads: written with a key, and only moved forward."""

from pathlib import Path

from custody.core.ids import Link, Seq, StoreId
from custody.core.record import ChainTip
from custody.store.heads import Heads

STORE = StoreId("a" * 32)


def a_head(seq: int) -> ChainTip:
    return ChainTip(STORE, Seq(seq), Link(bytes([seq]) * 32))


def test_a_head_is_remembered(tmp_path: Path) -> None:
    Heads(tmp_path).advance(a_head(3))
    assert Heads(tmp_path).read(STORE) == a_head(3)


def test_a_head_never_goes_back(tmp_path: Path) -> None:
    heads = Heads(tmp_path)
    heads.advance(a_head(3))
    heads.advance(a_head(2))
    assert heads.read(STORE) == a_head(3)


def test_a_changed_head_is_not_genuine(tmp_path: Path) -> None:
    heads = Heads(tmp_path)
    heads.advance(a_head(3))
    path = tmp_path / f"head-{STORE}"
    path.write_text(path.read_text().replace('"seq":3', '"seq":2'))
    assert heads.read(STORE) is None
    (kept,) = heads.read_all()
    assert not kept.genuine


def test_a_head_from_another_machine_is_not_genuine(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    for name in ("here", "there"):
        Heads(tmp_path / name).advance(a_head(1))
    (tmp_path / "there" / "key").rename(tmp_path / "here" / "key")
    assert Heads(tmp_path / "here").read(STORE) is None


def test_rubbish_is_a_head_that_is_not_genuine(tmp_path: Path) -> None:
    for n, rubbish in enumerate((b"", b"\xff", b"[]", b'{"store":1}', b'{"store":"x","seq":1,"link":"zz"}')):
        (tmp_path / f"head-{n}").write_bytes(rubbish)
    assert [(kept.head, kept.genuine) for kept in Heads(tmp_path).read_all()] == [(None, False)] * 5


def test_a_head_file_under_another_name_is_not_genuine(tmp_path: Path) -> None:
    heads = Heads(tmp_path)
    heads.advance(a_head(3))
    (tmp_path / f"head-{STORE}").rename(tmp_path / ("head-" + "b" * 32))
    assert heads.read(StoreId("b" * 32)) is None
