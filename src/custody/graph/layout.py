"""Where things stand: trees from left to right, in time proportional to their size."""

from collections.abc import Iterable, Mapping, Sequence

STEP_X, STEP_Y = 220, 40
"""How far a child stands from its parent, and a row from the next, in units of the canvas."""


def place_nodes(roots: Iterable[str], children: Mapping[str, Sequence[str]]) -> dict[str, tuple[float, float]]:
    """A place for every node of a forest: no two leaves share a row, and a parent stands amid its children.

    >>> place_nodes(["a"], {"a": ["b", "c"]})
    {'b': (220, 0), 'c': (220, 40), 'a': (0, 20.0)}
    """
    places: dict[str, tuple[float, float]] = {}
    row = 0
    todo = [(root, 0, False) for root in roots][::-1]
    while todo:
        node, depth, children_done = todo.pop()
        below = children.get(node, ())
        if not below:
            places[node] = (depth * STEP_X, row * STEP_Y)
            row += 1
        elif children_done:
            places[node] = (depth * STEP_X, (places[below[0]][1] + places[below[-1]][1]) / 2)
        else:
            todo.append((node, depth, True))
            todo.extend((child, depth + 1, False) for child in reversed(below))
    return places
