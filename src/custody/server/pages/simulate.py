"""Policies tried on the past: sliders in the address, and what would have landed unseen with them."""

import math
from typing import get_args

from custody.core.errors import InputError
from custody.server.page_data.trust import policy_tried
from custody.server.pages.attempt import attempt_question
from custody.server.pages.page import Page, PageParams, PageView
from custody.trust.app.simulate import SLIDERS, SimulationSource, slider_values
from custody.workspace.workspace import Workspace, has_repository

DAYS, DAYS_MAX = 365, 730
SOURCES: tuple[SimulationSource, ...] = ("records", "auto", "git")
NUMBER_SIGNS_MAX = 16
ASKED = {
    **{name: slider.label for name, slider in SLIDERS.items()},
    "days": "how many days back",
    "source": "records, git, or auto for both",
}

assert set(SOURCES) == set(get_args(SimulationSource)), "every source can be chosen"


def simulate(workspace: Workspace, asked: PageParams) -> PageView:
    """The sliders; and the result, if any of them was moved (it comes later where none was)."""
    values = slider_values(workspace)
    wished = _wished(asked)
    moved = bool(asked.given)
    fields = {
        "sliders": [(slider, values[name], wished.get(name, values[name])) for name, slider in SLIDERS.items()],
        "days": _days(asked),
        "days_max": DAYS_MAX,
        "source": asked.choice("source", SOURCES),
        "sources": SOURCES if has_repository(workspace) else SOURCES[:1],
        "found": _result(workspace, asked) if moved else None,
        "moved": moved,
    }
    return PageView(title="Policy simulation", template="simulate.html", fields=fields, scripts=("trust.js",))


def simulate_result(workspace: Workspace, asked: PageParams) -> PageView:
    """The result alone."""
    return PageView(title="Simulation", template="simulate_result.html", fields={"found": _result(workspace, asked)})


def _result(workspace: Workspace, asked: PageParams) -> object:
    wished, days = _wished(asked), _days(asked)
    source = next(known_source for known_source in SOURCES if known_source == asked.choice("source", SOURCES))
    values = slider_values(workspace)
    moved = {name: value for name, value in wished.items() if value != values[name]}
    return attempt_question(lambda: policy_tried(workspace, asked.memory.trials, moved, days=days, source=source))


def _days(asked: PageParams) -> int:
    return asked.number("days", DAYS, least=1, most=DAYS_MAX)


def _wished(asked: PageParams) -> dict[str, float]:
    """Where the sliders stand, those that were said."""
    return {name: value for name in SLIDERS if (value := _value(asked, name)) is not None}


def _value(asked: PageParams, name: str) -> float | None:
    text = asked.text(name)
    if text is None:
        return None
    slider = SLIDERS[name]
    try:
        value = float(text) if len(text) <= NUMBER_SIGNS_MAX and text.isascii() else math.nan
    except ValueError:
        value = math.nan
    if not slider.least <= value <= slider.most:
        raise InputError(f"'{name}' is a number from {slider.least:g} to {slider.most:g}")
    return value


PAGES = (
    Page(name="simulate", section="trust", view=simulate, takes=ASKED, long=True),
    Page(name="simulate-result", view=simulate_result, takes=ASKED, part=True, long=True),
)
