"""``custody why`` lists the sources that were read before a line was written, and no others."""

from pathlib import Path
from typing import Any

import pytest

from custody.cite.app.registry import cite_list, cite_merge
from custody.why import context as why_sources
from custody.why.report import SourcesLink
from custody.why.why import why
from custody.workspace.workspace import Workspace
from tests.builders.cli import spool_of
from tests.builders.events import an_event
from tests.builders.in_process import custody
from tests.builders.repo import Built, a_repository

OLD = "The beginning of a report.\n"
NEW = OLD + "Catches in the northern grounds fell to 12,000 tonnes in source year.\n"


@pytest.fixture
def built(tmp_path: Path) -> Built:
    """A repository with a line that an agent wrote at noon and that is not committed."""
    made = a_repository(tmp_path / "repository")
    made.commit({b"a.md": OLD.encode()}, at=1_769_860_000)
    made.checkout()
    (made.path / "a.md").write_text(NEW)
    spool_of(made.path).put(an_event("edit", id="e1", call="c1", path="a.md", before=OLD, after=NEW, head=made.head()))
    return made


def read(built: Built, n: int, locator: str, at: str = "11:50:00", **more: Any) -> None:
    event = an_event("source_read", id=f"r{n}", locator=locator, at=f"2026-01-31T{at}Z", call=f"c{n}", **more)
    spool_of(built.path).put(event)


def sources(built: Built) -> SourcesLink:
    (link,) = (link for link in why(Workspace(built.path), "a.md", 2).chain if isinstance(link, SourcesLink))
    return link


def test_sources_are_shown_latest_first_with_their_reading(built: Built) -> None:
    read(built, 2, "https://example.org/b", "11:51:00", reading="listed", title="B")
    read(built, 3, "https://example.org/c", "11:52:00", reading="summarised")
    read(built, 4, f"{built.path}/docs/plan.md", "11:53:00", reading="excerpt")
    read(built, 5, "https://example.org/late", "12:00:01")
    read(built, 6, "https://example.org/elsewhere", session="s2")
    read(built, 7, "https://example.org/other", agent="other")
    link = sources(built)
    assert [
        (source.locator, source.reading, source.at[11:19], source.call, source.title) for source in link.sources
    ] == [
        ("docs/plan.md", "excerpt", "11:53:00", "c4", None),
        ("https://example.org/c", "summarised", "11:52:00", "c3", None),
        ("https://example.org/b", "listed", "11:51:00", "c2", "B"),
    ]
    assert all(len(source.records) == 1 for source in link.sources)


def test_a_file_of_a_work_tree_on_another_machine_is_shown_by_its_path_here(built: Built) -> None:
    built.commit({b"docs/plan.md": b"plan\n"}, at=1_769_860_001)
    built.git("reset", "--quiet")
    for n, locator in enumerate(("/home/ana/shop/docs/plan.md", "/home/ana/plan.md", "/etc/../x/docs/plan.md", "/")):
        read(built, n + 2, locator, f"11:5{n}:00")
    assert [source.locator for source in sources(built).sources] == [
        "/",
        "docs/plan.md",
        "/home/ana/plan.md",
        "docs/plan.md",
    ]


def test_a_source_read_twice_is_listed_once_with_its_best_reading(built: Built) -> None:
    read(built, 2, "https://example.org/b", "11:51:00", reading="verbatim")
    read(built, 3, "https://example.org/b", "11:52:00", reading="listed")
    (source,) = sources(built).sources
    assert (source.reading, source.at[11:19], len(source.records)) == ("verbatim", "11:52:00", 2)


def test_a_registered_source_is_shown_by_its_number_also_after_a_merge(built: Built) -> None:
    read(built, 2, "https://example.org/b", "11:51:00")
    read(built, 3, "https://example.org/c", "11:52:00")
    assert [source.id for source in sources(built).sources] == [None, None], "no numbers were assigned yet"
    assert [source.id for source in cite_list(Workspace(built.path)).sources] == ["S1", "S2"]
    assert [source.id for source in sources(built).sources] == ["S2", "S1"]
    cite_merge(Workspace(built.path), "S1", "S2", reason="the same")
    assert [source.id for source in sources(built).sources] == ["S1", "S1"]


def test_earlier_sources_are_counted(built: Built) -> None:
    for n in range(13):
        read(built, n + 2, f"https://example.org/{n}", f"11:50:{n:02}")
    read(built, 20, "https://example.org/late", "12:00:01")
    link = sources(built)
    assert [source.locator[-2:] for source in link.sources] == [
        "12",
        "11",
        "10",
        "/9",
        "/8",
        "/7",
        "/6",
        "/5",
        "/4",
        "/3",
    ]
    assert link.more == 3
    assert "|    and 3 earlier" in custody(built.path, "why", "a.md:2", "-v").out
    (row,) = (line for line in custody(built.path, "why", "a.md:2").out.splitlines() if line.startswith("  read "))
    assert row.startswith("  read        https://example.org/12, ") and row.endswith("/3, 3 more")


def test_sources_of_the_parent_session_count_too(built: Built) -> None:
    spool_of(built.path).put(an_event("session", id="1", parent="s0"))
    spool_of(built.path).put(an_event("session", id="2", session="s0", parent="s1"))
    read(built, 2, "https://example.org/b", session="s0")
    assert [source.locator for source in sources(built).sources] == ["https://example.org/b"]


def test_a_session_without_sources_is_reported(built: Built) -> None:
    assert sources(built) == SourcesLink(sources=[], more=0)
    assert "no captured sources before it" in custody(built.path, "why", "a.md:2", "-v").out
    assert "  read " not in custody(built.path, "why", "a.md:2").out


def test_few_records_are_read_even_for_a_source_read_often(built: Built) -> None:
    for n in range(20):
        read(built, n + 2, "https://example.org/b", f"11:50:{n:02}")
    (source,) = sources(built).sources
    assert len(source.records) == why_sources.READINGS_PER_SOURCE_MAX
