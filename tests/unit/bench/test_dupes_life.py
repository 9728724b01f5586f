"""The life of branches: only copies are duplicates, and clusters have what a check calls a duplicate."""

import io
import json

from bench.dupes_life import KINDS, main


def test_nothing_in_the_life_of_branches_is_a_duplicate_but_a_copy() -> None:
    out = io.StringIO()
    status = main(["--branches", str(len(KINDS) + 6), "--json"], out=out, err=io.StringIO())
    result = json.loads(out.getvalue())
    assert (status, result["false duplicates"], result["duplicates missing in clusters"]) == (0, {}, 0), result
    assert result["copies found"] == result["copies"] >= 1, result
