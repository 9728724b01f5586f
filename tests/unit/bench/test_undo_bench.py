"""The bench of undo: a few random histories in every run, and its comparison with the truth."""

import json
from collections import Counter
from io import StringIO

from bench.attribution.truth import PERSON, Line, Page, the_agent
from bench.undo import Outcome, compare, main


def test_random_histories_lose_no_line_of_another_author() -> None:
    out = StringIO()
    status = main(["--random", "2", "--seed", "20260302", "--jobs", "2"], out=out)
    figures = json.loads(out.getvalue().splitlines()[0])
    assert (status, figures["lost"], figures["failed"]) == (0, 0, 0), out.getvalue()
    assert figures["removed"] > 0


def test_a_lost_line_and_a_line_that_is_not_listed_are_found() -> None:
    session = the_agent("s1")
    lines = (Line("a line of a person", PERSON), Line("made by the agent", session), Line("left by the agent", session))
    head = "diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -1,3 +1 @@\n"
    patch = head + "-a line of a person\n-made by the agent\n left\n"
    outcome = Outcome("one", "s1")
    compare(outcome, {"f.py": Page(lines)}, session, Counter(["leftbytheagent"]), {"patch": patch, "spared": []})
    assert outcome.lost == ["alineofaperson"]
    assert (outcome.removed, outcome.unlisted, outcome.is_exact) == (1, ["f.py:3 left by the agent"], False)
