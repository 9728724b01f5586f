"""Policy simulation: sliders as query parameters, and what would have merged without review."""

import math
from typing import get_args

from custody.core.errors import InputError
from custody.server.page_data.trust import simulate_policy_for_page
from custody.server.pages.page import Page, PageParams, PageView, attempt_page_part
from custody.trust.app.simulate import SLIDERS, SimulationSource, read_trust_slider_values
from custody.workspace.workspace import Workspace, has_workspace_repository

DAYS, DAYS_MAX = 365, 730
SOURCES: tuple[SimulationSource, ...] = ("records", "auto", "git")
NUMBER_CHARACTERS_MAX = 16
TAKES = {
    **{name: slider.label for name, slider in SLIDERS.items()},
    "days": "days to look back",
    "source": "records, git, or auto for both",
}

assert set(SOURCES) == set(get_args(SimulationSource)), "every source can be chosen"


def view_simulation(workspace: Workspace, params: PageParams) -> PageView:
    """Show the sliders, and the result if a parameter was passed (else it is loaded later)."""
    values = read_trust_slider_values(workspace)
    wished = _read_slider_params(params)
    moved = bool(params.values)
    fields = {
        "sliders": [(slider, values[name], wished.get(name, values[name])) for name, slider in SLIDERS.items()],
        "days": _read_simulation_days(params),
        "days_max": DAYS_MAX,
        "source": params.choice("source", SOURCES),
        "sources": SOURCES if has_workspace_repository(workspace) else SOURCES[:1],
        "simulation": _run_page_simulation(workspace, params) if moved else None,
        "moved": moved,
    }
    return PageView(title="Policy simulation", template="simulate.html", fields=fields, scripts=("trust.js",))


def view_simulation_result(workspace: Workspace, params: PageParams) -> PageView:
    """Show the result alone."""
    return PageView(
        title="Simulation",
        template="simulate_result.html",
        fields={"simulation": _run_page_simulation(workspace, params)},
    )


def _run_page_simulation(workspace: Workspace, params: PageParams) -> object:
    wished, days = _read_slider_params(params), _read_simulation_days(params)
    source = next(known_source for known_source in SOURCES if known_source == params.choice("source", SOURCES))
    values = read_trust_slider_values(workspace)
    moved = {name: value for name, value in wished.items() if value != values[name]}
    return attempt_page_part(
        lambda: simulate_policy_for_page(workspace, params.memory.trials, moved, days=days, source=source)
    )


def _read_simulation_days(params: PageParams) -> int:
    return params.number("days", DAYS, least=1, most=DAYS_MAX)


def _read_slider_params(params: PageParams) -> dict[str, float]:
    """Return the slider values among the parameters."""
    return {name: value for name in SLIDERS if (value := _read_slider_param(params, name)) is not None}


def _read_slider_param(params: PageParams, name: str) -> float | None:
    text = params.text(name)
    if text is None:
        return None
    slider = SLIDERS[name]
    try:
        value = float(text) if len(text) <= NUMBER_CHARACTERS_MAX and text.isascii() else math.nan
    except ValueError:
        value = math.nan
    if not slider.least <= value <= slider.most:
        raise InputError(f"'{name}' must be a number from {slider.least:g} to {slider.most:g}")
    return value


PAGES = (
    Page(name="simulate", section="trust", view=view_simulation, takes=TAKES, long=True),
    Page(name="simulate-result", view=view_simulation_result, takes=TAKES, part=True, long=True),
)
