"""Results of faults, for people and for programs."""

from collections.abc import Sequence

from bench.columns import columns
from bench.faults.frame import Examined, Fault, Figure

JSON_VERSION = 1


def command(examined: Examined) -> str:
    """Return the command that repeats the same rounds."""
    trial = examined.trial
    return f"python -m bench.faults {examined.fault.name} --rounds {trial.rounds} --seed {trial.seed}"


def table(results: Sequence[Examined]) -> str:
    """Return one line per figure, then the command that repeats each fault."""
    header = ("fault", "rounds", "figure", "value", "must be", "holds")
    rows = [
        (one.fault.name, f"{one.trial.rounds:,}", name, f"{figure.value:,}", bound(figure), holds(figure))
        for one in results
        for name, figure in one.figures.items()
    ]
    return columns(header, rows) + "\n" + "".join(f"{command(one)}\n" for one in results)


def bound(figure: Figure) -> str:
    """Return the bar of the figure."""
    return "" if figure.must is None else str(figure.must)


def holds(figure: Figure) -> str:
    """Return whether a figure with a bar reaches it."""
    if figure.must is None:
        return ""
    return "yes" if figure.holds else "NO"


def listing(faults: Sequence[Fault]) -> str:
    """Return the list of faults."""
    return columns(("fault", "rounds", "what"), [(fault.name, f"{fault.rounds:,}", fault.what) for fault in faults])


def as_json(results: Sequence[Examined], seed: int) -> dict[str, object]:
    """Return the content of the table as JSON."""
    return {"version": JSON_VERSION, "seed": seed, "faults": [one_as_json(one) for one in results]}


def one_as_json(examined: Examined) -> dict[str, object]:
    """Return one fault with its figures."""
    return {
        "name": examined.fault.name,
        "what": examined.fault.what,
        "rounds": examined.trial.rounds,
        "figures": {
            name: {"value": figure.value, "must": bound(figure) or None, "holds": figure.holds}
            for name, figure in examined.figures.items()
        },
        "command": command(examined),
    }
