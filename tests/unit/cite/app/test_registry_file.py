"""A damaged or shared registry file: truncated, garbled, written by many. Earlier bytes stay, nothing is lost."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from custody.cite.app.registry_stores import FileRegistryStore
from custody.cite.app.source_registry import SourceRegistry
from custody.core.errors import InputError, StoreError
from tests.builders.sources import a_registry, a_source


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "sources.jsonl"


def opened(path: Path, warnings: list[str] | None = None) -> SourceRegistry:
    """Open the registry as a new program."""
    return a_registry(FileRegistryStore(path, pytest.fail if warnings is None else warnings.append))


def ids(registry: SourceRegistry) -> list[str]:
    return [identity.source_id for identity, _ in registry.list_all()]


def test_reading_creates_no_file(path: Path) -> None:
    assert opened(path).list_all() == []
    assert not path.parent.exists()


# Conformance: 003-042, 003-099
def test_earlier_bytes_never_change(path: Path) -> None:
    registry = opened(path)
    before = b""
    steps: list[Callable[[], object]] = [
        lambda: registry.register(a_source(1)),
        lambda: registry.register(a_source(2)),
        lambda: registry.register(a_source(1, author="Ana")),
        lambda: registry.merge("S1", "S2", "the same"),
        lambda: registry.unmerge("S2"),
        lambda: registry.excerpt("S2", "a passage"),
        lambda: registry.register_usage("S1", "finding", "f1"),
    ]
    for step in steps:
        step()
        now = path.read_bytes()
        assert now.startswith(before)
        assert len(now) > len(before)
        assert now.endswith(b"\n")
        before = now
    assert path.stat().st_mode & 0o777 == 0o600
    assert [json.loads(line)["op"] for line in before.splitlines()] == [
        "register",
        "register",
        "register",
        "merge",
        "unmerge",
        "excerpt",
        "use",
    ]


# Conformance: 003-043
@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_an_incomplete_line_is_a_warning_and_the_lines_before_it_count(path: Path, share: float) -> None:
    for n in (1, 2, 3):
        opened(path).register(a_source(n))
    whole = path.read_bytes()
    *first, last = whole.splitlines(keepends=True)
    cut = b"".join(first) + last[: max(1, int(len(last) * share))]
    path.write_bytes(cut)
    warnings: list[str] = []
    registry = opened(path, warnings)
    assert ids(registry) == ["S1", "S2"]
    (warning,) = warnings
    assert f"ignored the incomplete line 3 of '{path}'" in warning
    assert "2 lines before it are complete" in warning
    assert path.read_bytes() == cut, "reading changes nothing"
    assert registry.register(a_source(4)).source_id == "S3", "the number in the incomplete line was never returned"
    assert path.read_bytes().startswith(cut + b"\n")
    again: list[str] = []
    assert ids(opened(path, again)) == ["S1", "S2", "S3"]
    assert "line 3" in again[0]
    assert f"skipped line 3 of '{path}': not JSON" in again[0]


def test_a_line_without_its_line_end_counts_for_the_next_writer(path: Path) -> None:
    for n in (1, 2):
        opened(path).register(a_source(n))
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    warnings: list[str] = []
    registry = opened(path, warnings)
    assert registry.register(a_source(2)).source_id == "S2"
    assert registry.register(a_source(3)).source_id == "S3"
    assert ids(opened(path)) == ["S1", "S2", "S3"]


# Conformance: 003-043
@pytest.mark.parametrize(
    "garbage",
    [
        b"\x00\xff\xfe garbage",
        b"{}",
        b"[" * 200,
        b'{"custody":1,"kind":"prompt","id":"x","at":"2026-01-31T12:00:00Z","agent":"a","session":"s","text":"t"}',
        b'{"custody":1,"kind":"registry","id":"x","at":"2026-01-31T12:00:00Z","op":"merge","number":1}',
        b'{"custody":1,"kind":"registry","id":"x","at":"never","op":"use","number":1}',
        b'{"custody":9,"kind":"registry"}',
    ],
)
def test_a_garbled_line_is_a_warning_and_its_number_is_not_reused(path: Path, garbage: bytes) -> None:
    for n in (1, 2, 3):
        opened(path).register(a_source(n))
    first, _, last = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join((first, garbage, last)) + b"\n")
    warnings: list[str] = []
    registry = opened(path, warnings)
    assert ids(registry) == ["S1", "S3"]
    assert warnings[0].startswith(f"skipped line 2 of '{path}': ")
    assert registry.get("S2") is None
    assert registry.register(a_source(2)).source_id == "S4", "S2 may be cited somewhere"


def test_a_line_that_contradicts_earlier_lines_is_a_warning(path: Path) -> None:
    opened(path).register(a_source(1))
    path.write_bytes(path.read_bytes() * 2)
    warnings: list[str] = []
    assert ids(opened(path, warnings)) == ["S1"]
    assert warnings == [f"skipped line 2 of '{path}': it contradicts the lines before it"]


def test_a_file_that_is_not_a_registry_is_not_changed(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"dear diary\nnothing happened\n")
    with pytest.raises(InputError, match="is not a registry file"):
        opened(path, []).register(a_source(1))
    assert path.read_bytes() == b"dear diary\nnothing happened\n"


def test_a_truncated_file_is_an_error(path: Path) -> None:
    registry = opened(path)
    registry.register(a_source(1))
    registry.register(a_source(2))
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[0])
    with pytest.raises(StoreError, match="was truncated"):
        registry.register(a_source(3))


def test_only_a_regular_file_is_accepted(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot open the registry file"):
        opened(path).register(a_source(1))
    pipe = path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is not a regular file"):
        opened(pipe).list_all()


def test_a_file_that_cannot_be_created_is_an_error(path: Path) -> None:
    path.parent.mkdir()
    path.symlink_to(path.parent / "missing" / "sources.jsonl")
    assert opened(path).list_all() == []
    with pytest.raises(StoreError, match="cannot open the registry file '.*': No such file"):
        opened(path).register(a_source(1))


def test_a_program_reads_what_another_wrote(path: Path) -> None:
    one, other = opened(path), opened(path)
    assert one.register(a_source(1)).source_id == "S1"
    assert other.register(a_source(2)).source_id == "S2"
    assert one.register(a_source(2)).source_id == "S2"
    assert ids(one) == ids(other) == ["S1", "S2"]


# Conformance: 003-043
def test_programs_that_write_at_once_share_no_number(path: Path) -> None:
    code = (
        "import sys\n"
        "from custody.cite.app.library import ResearchSource, in_file\n"
        "registry = in_file(sys.argv[1])\n"
        "for n in range(16):\n"
        "    made = registry.register(ResearchSource(title='t', url=f'https://example.org/{sys.argv[2]}/{n}'))\n"
        "    print(made.source_id)\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(path), str(n)], stdout=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    given_ids = [line for one in started for line in one.communicate()[0].split()]
    assert all(one.returncode == 0 for one in started)
    assert sorted(given_ids, key=lambda one: int(one[1:])) == [f"S{n}" for n in range(1, 65)]
    assert ids(opened(path)) == [f"S{n}" for n in range(1, 65)]


@given(cut=st.integers(0, 2000), junk=st.binary(max_size=20))
def test_wherever_it_is_truncated_complete_lines_count(
    cut: int, junk: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("cut") / "sources.jsonl"
    registry = opened(path)
    for n in range(4):
        registry.register(a_source(n))
    data = path.read_bytes()
    kept = data[: min(cut, len(data))]
    path.write_bytes(kept + junk)
    whole = kept.count(b"\n")
    after = opened(path, [])
    assert ids(after)[:whole] == [f"S{n}" for n in range(1, whole + 1)]
    if whole:
        number = int(after.register(a_source(9)).source_id[1:])
        assert number > whole
        assert path.read_bytes().startswith(kept + junk)
