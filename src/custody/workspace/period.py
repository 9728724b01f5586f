"""When a change was made."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChangePeriod:
    """When a change was made, by its commits: its base, the first of them, the last of them."""

    base_ns: int
    first_ns: int
    last_ns: int
