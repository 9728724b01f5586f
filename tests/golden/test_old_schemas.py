"""Stores of every schema that custody ever wrote are upgraded: read, verified, appended to, and blamed."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from custody.store.db import load_schema_migrations, migrate_store_schema
from custody.store.schema import compare_schemas, make_migrated_schema, read_schema
from custody.store.sqlite import open_sqlite
from tests.builders.in_process import custody
from tests.golden.old_stores import COMMITS, EVENTS, FILE, STORES, make_repository, unpack_store

BEFORE_THE_REPAIR = 10
"""The last schema without the repair of edited migrations."""
STORED = len(EVENTS)
CONTINUED = 1
"""The first record of the chain that continues a copied store."""


@pytest.fixture(params=COMMITS)
def name(request: pytest.FixtureRequest) -> str:
    """The name of an old store."""
    return str(request.param)


@pytest.fixture
def repository(name: str, tmp_path: Path) -> Path:
    """A repository with an old store."""
    folder = tmp_path / "work"
    make_repository(folder)
    unpack_store(name, folder / ".git" / "custody")
    return folder


def answer(repository: Path, *words: str) -> dict[str, object]:
    ran = custody(repository, *words, "--json")
    assert ran.status == 0, ran.err + ran.out
    value: dict[str, object] = json.loads(ran.out)
    return value


def check_upgrade(repository: Path) -> None:
    assert answer(repository, "verify")["records"] == STORED
    assert "discounts" in json.dumps(answer(repository, "log", "s1"))
    _, second = custody(repository, "blame", FILE, "--porcelain").out.splitlines()
    assert "robot" in second
    assert custody(repository, "trust", "record", "robot", "accepted", "main").status == 0
    assert answer(repository, "verify")["records"] == STORED + CONTINUED + 1
    doctor = json.dumps(answer(repository, "doctor"))
    newest = load_schema_migrations()[-1].number
    assert f"schema {newest} of {newest}" in doctor


def test_every_old_store_has_its_fixture() -> None:
    assert {path.name.removesuffix(".tar.xz") for path in STORES.iterdir()} == COMMITS.keys()


def test_it_is_read_verified_blamed_and_appended_to(repository: Path) -> None:
    check_upgrade(repository)


@pytest.mark.parametrize("name", [name for name in COMMITS if int(name.partition("-")[0]) <= BEFORE_THE_REPAIR])
def test_a_store_that_was_upgraded_before_the_repair_is_repaired(repository: Path) -> None:
    with closing(open_sqlite(repository / ".git" / "custody" / "custody.db")) as db:
        migrate_store_schema(db, load_schema_migrations()[: max(BEFORE_THE_REPAIR, db.version())])
    check_upgrade(repository)


def test_its_schema_is_what_its_name_says(repository: Path, name: str) -> None:
    with closing(open_sqlite(repository / ".git" / "custody" / "custody.db")) as db:
        expected = make_migrated_schema(load_schema_migrations()[: db.version()])
        differences = list(compare_schemas(read_schema(db), expected))
        assert db.version() == int(name.partition("-")[0])
    assert bool(differences) == ("-" in name), differences
