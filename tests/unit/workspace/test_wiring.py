"""The names in the wiring table exist in their packages."""

from msgspec import Struct

from custody.core.wire.event import GENERIC
from custody.workspace.wiring import READER_NAMES, READERS, RULES, import_rule_tables, import_wired_name


def test_every_table_of_rules_has_its_class() -> None:
    assert list(import_rule_tables()) == sorted(RULES)
    assert all(issubclass(kind, Struct) for kind in import_rule_tables().classes.values())
    assert {rule.table for rule in import_rule_tables().rules.values()} == set(RULES)


def test_every_kind_of_record_has_its_reader() -> None:
    assert all(callable(import_wired_name(name)) for _, name in READER_NAMES.values())
    assert set(READERS) == {"spans", *READER_NAMES, *(str(event.__struct_config__.tag) for event in GENERIC)}
    assert all(READERS[kind].version == version for kind, (version, _) in READER_NAMES.items())
