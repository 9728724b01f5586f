"""The components of the pages, and what the header shows."""

import re
import subprocess
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from custody.server.page_data.cache import StateCache
from custody.server.page_data.site import read_page_site
from custody.server.pages.charts import render_share_bar
from custody.server.pages.frame import load_page_assets, load_template_environment
from custody.workspace.workspace import Workspace
from tests.builders.cli import a_git_folder
from tests.builders.rendered import HOSTILE, acts, words_of

CSS_BYTES_MAX = 40_000


def component(call: str, **fields: Any) -> str:
    """Return one component as HTML."""
    source = "{% import '_components.html' as ui with context %}{{ " + call + " }}"
    return load_template_environment().from_string(source).render(**fields)


def test_a_verdict_has_a_word_and_a_shape_of_its_own() -> None:
    badges = [component("ui.verdict(level)", level=level) for level in ("approve", "review", "block", None)]
    assert [words_of(badge) for badge in badges] == ["Can merge", "Needs review", "Blocked", "Checking…"]
    assert len({re.findall(r' d="([^"]+)"', badge)[0] for badge in badges}) == 4


def test_certainty_has_as_many_bars_as_its_word_says() -> None:
    words = ("certain", "strong", "likely", "weak", "unknown")
    assert [component("ui.sure(word)", word=word).count('class="on"') for word in words] == [4, 3, 2, 1, 0]
    assert "Weak" not in words_of(component("ui.sure('weak', bare=true)"))
    assert 'aria-label="Weak"' in component("ui.sure('weak', bare=true)")


def test_names_and_commands_in_components_are_text() -> None:
    calls = ("ui.who('agent', text)", "ui.chip(text)", "ui.cmd(text)", "ui.empty(text, text, text)", "ui.note(text)")
    for call in (*calls, "ui.error(text, text)", "ui.progress(text, 1, 2)", "ui.damage(text)", "ui.gap(text)"):
        html = component(call, text=HOSTILE)
        assert not acts(html) and "<img" not in html, call
        assert "onerror=alert" in html, call


@given(st.tuples(*[st.integers(0, 10**6)] * 4))
def test_a_share_bar_has_a_part_for_each_class_with_lines(lines: tuple[int, int, int, int]) -> None:
    html = str(render_share_bar(*lines, "who wrote the lines"))
    classes = {name for name, size in zip(("a", "m1", "p", "u0"), lines, strict=True) if size}
    assert {name for name in re.findall(r'class="(\w+)"', html) if name not in ("share", "m2", "u1")} == classes
    wide = float(re.findall(r'viewBox="0 0 ([\d.]+) 10"', html)[0])
    ends = [float(x) + float(w) for x, w in re.findall(r'x="([\d.]+)" y="\d" width="([\d.]+)"', html)]
    assert all(end <= wide + 0.2 for end in ends)
    assert all(0 <= float(y) <= 10 for y in re.findall(r"[ML]-?[\d.]+ (-?[\d.]+)", html))


def test_the_header_names_the_remote_repository_or_the_folder(tmp_path: Path) -> None:
    folder = a_git_folder(tmp_path / "till")
    assert read_page_site(Workspace(folder), StateCache()).repository == "till"
    command = ("git", "-C", str(folder), "remote", "add", "origin", "git@example.com:harbour/ledger.git")
    subprocess.run(command, check=True)
    site = read_page_site(Workspace(folder), StateCache())
    assert (site.repository, site.is_recording) == ("harbour/ledger", False)


def test_style_sheets_stay_small() -> None:
    sheets = {name: len(asset.data) for name, asset in load_page_assets().items() if name.endswith(".css")}
    shared = sheets.pop("app.css")
    assert all(shared + size <= CSS_BYTES_MAX for size in sheets.values()), (shared, sheets)
