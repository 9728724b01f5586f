"""Which terms of a change are worth a search: the rare ones."""

import math
from collections.abc import Callable, Iterable, Mapping
from heapq import nsmallest


def rarest(
    terms: Mapping[int, int] | Iterable[int],
    df: Mapping[int, int] | Callable[[int], int],
    *,
    keep: int,
    df_max: int | None = None,
    df_min: int = 0,
) -> list[int]:
    """At most ``keep`` different terms, those of the fewest documents first.

    ``df`` says how many documents have a term; one that it does not list has none. Terms of more than ``df_max`` or
    fewer than ``df_min`` documents are left out: the one are too common to say anything, the other (with 1) find
    nothing. If ``terms`` is a mapping, its values are caps of the terms' own, which hold beside ``df_max``. Of equally
    rare terms the smaller comes first; terms are hashes, so two changes that share many choose the same of them.

    >>> rarest([40, 10, 30, 20], {10: 3, 20: 1, 30: 1, 40: 900}, keep=2, df_max=100)
    [20, 30]
    >>> rarest({10: 2, 20: 5}, {10: 3, 20: 3}, keep=9)
    [20]
    """
    count: Callable[[int], int] = df if callable(df) else lambda term: df.get(term, 0)
    most = math.inf if df_max is None else df_max
    caps: Mapping[int, int] = terms if isinstance(terms, Mapping) else {}
    counted = ((count(term), term) for term in set(terms))
    fitting = ((found, term) for found, term in counted if df_min <= found <= min(most, caps.get(term, most)))
    return [term for _, term in nsmallest(keep, fitting)]
