"""Migrations are frozen: stores of users were made by them, so an edit would leave two schemas with one version."""

from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).parents[3]
TABLE = Path(__file__).with_name("migrations.sha256")
"""The digests in the format of ``sha256sum``; a new migration adds its line."""


def read_frozen_digests() -> dict[str, str]:
    pairs = (line.split("  ") for line in TABLE.read_text("utf-8").splitlines())
    return {path: digest for digest, path in pairs}


def read_real_digests() -> dict[str, str]:
    files = sorted((ROOT / "src" / "custody").glob("**/migrations/*.sql"))
    return {str(file.relative_to(ROOT)): sha256(file.read_bytes()).hexdigest() for file in files}


def test_no_migration_was_edited_or_removed() -> None:
    real = read_real_digests()
    changed = [path for path, digest in read_frozen_digests().items() if real.get(path) != digest]
    assert not changed, f"write a new migration: {', '.join(changed)} may be in stores already, comments included"


def test_every_migration_is_in_the_table() -> None:
    new = sorted(read_real_digests().keys() - read_frozen_digests().keys())
    assert not new, f"add the new migration to {TABLE.name}: sha256sum {' '.join(new)}"
