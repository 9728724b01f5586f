"""Which names of agents can be asked about: a name that nobody has is a slip, and no answer about it would say so."""

from collections.abc import Iterable

from custody.core.errors import InputError
from custody.intake.settings import AGENTS


def check_agent(agent: str | None, heard: Iterable[str]) -> None:
    """Refuse the name of an agent that neither can be set up nor was ever heard here."""
    known = sorted({*AGENTS, *heard})
    if agent is not None and agent not in known:
        raise InputError(f"no agent is named '{agent}' here", hint=f"known are {', '.join(known)}")
