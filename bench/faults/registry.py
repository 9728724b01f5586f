"""Every fault by name. A module of faults holds a ``FAULTS`` tuple and is one row here."""

from collections.abc import Mapping

from bench.faults import calls, chain, disk, hooks, kill, last_words, tamper
from bench.faults.frame import Fault
from bench.names import by_name

FAULTS: Mapping[str, Fault] = by_name(
    chain.FAULTS,
    kill.FAULTS,
    disk.FAULTS,
    tamper.FAULTS,
    calls.FAULTS,
    hooks.FAULTS,
    last_words.FAULTS,
)
