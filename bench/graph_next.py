"""Prediction of the next call on unseen sessions: our model, order-1 Markov, and popularity.

    python -m bench graph-next PATH

PATH is a folder of Claude Code transcripts (``*.jsonl``, one session each, searched in depth) or a file of spans, one
trace a line (``.jsonl`` or ``.jsonl.gz``: ``trace``, ``spans`` of ``id, parent, kind, name, start, dur, status``).
Sessions are sorted by time. Every model learns from the first part and predicts the rest, call by call. It learns each
call after predicting it. Only figures are stored or printed.
"""

import argparse
import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from bench.bars import BenchError
from bench.columns import columns
from custody.graph.calls import SequenceCall, calls_from_spans
from custody.graph.model import CallSpan, Kind, Status
from custody.graph.prediction import NextModel, SessionState
from custody.graph.spans import build_span_forest

LEARN_SHARE = 0.7
BINS = 10
_KINDS = {"LLM": Kind.LLM, "TOOL": Kind.TOOL, "AGENT": Kind.AGENT, "RETRIEVER": Kind.RETRIEVAL}
_STATUSES = {"Ok": Status.OK, "Error": Status.FAILED}
_LENGTH = re.compile(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?")
_UNITS_S = (86_400, 3_600, 60, 1)


@dataclass(slots=True)
class Told:
    """How often each model was right, and the predicted and observed rates of ours."""

    asked: int = 0
    right: Counter[str] = field(default_factory=Counter)
    chances: list[tuple[float, bool]] = field(default_factory=list)

    @property
    def calibration(self) -> float:
        """Return the mean distance between predicted and observed hit rates, over bins of equal width."""
        bins: dict[int, list[tuple[float, bool]]] = {}
        for chance, hit in self.chances:
            bins.setdefault(min(int(chance * BINS), BINS - 1), []).append((chance, hit))
        apart = (abs(sum(c for c, _ in told) - sum(hit for _, hit in told)) for told in bins.values())
        return sum(apart) / max(self.asked, 1)


class Markov:
    """Predicts the most frequent successor of the last call; without one, the most common call."""

    def __init__(self) -> None:
        self.followed: dict[str, Counter[str]] = {}
        self.common: Counter[str] = Counter()

    def guess(self, last: str) -> str | None:
        """Return the likeliest next call; ties by name."""
        return _top(self.followed.get(last) or self.common)

    def see(self, last: str, name: str) -> None:
        """Learn one call."""
        self.followed.setdefault(last, Counter())[name] += 1
        self.common[name] += 1


def _top(counts: Counter[str]) -> str | None:
    return min(counts, key=lambda name: (-counts[name], name), default=None)


def told_of(sessions: Sequence[Sequence[SequenceCall]]) -> Told:
    """Learn from the first part of the sessions, then predict every call of the rest."""
    cut = int(len(sessions) * LEARN_SHARE)
    model, markov, told = NextModel(), Markov(), Told()
    model.fit(sessions[:cut])
    for calls in sessions[:cut]:
        for last, call in zip(["", *(call.name for call in calls)], calls, strict=False):
            markov.see(last, call.name)
    for calls in sessions[cut:]:
        session, last = SessionState(), ""
        for call in calls:
            best = next(iter(model.suggest(session, call.place, 1)), None)
            hit = best is not None and best.name == call.name
            told.asked += 1
            told.chances.append((0.0 if best is None else best.chance, hit))
            told.right["ours"] += hit
            told.right["order-1 Markov"] += markov.guess(last) == call.name
            told.right["popularity"] += _top(markov.common) == call.name
            model.add_call(session, call)
            markov.see(last, call.name)
            last = call.name
    return told


def sessions_of(path: Path, *, fine: bool) -> list[list[SequenceCall]]:
    """Return the sessions under a path, the oldest first."""
    read = _transcripts(path) if path.is_dir() else _traces(path)
    found: list[tuple[int, list[SequenceCall]]] = []
    for spans in read:
        at_ns = min((span.start_ns for span in spans if span.start_ns is not None), default=0)
        found += [(at_ns, calls) for calls in calls_from_spans(build_span_forest(spans).spans, detailed=fine).values()]
    return [calls for _, calls in sorted(found, key=lambda one: one[0])]


def _traces(path: Path) -> Iterator[list[CallSpan]]:
    packed = path.read_bytes()
    text = gzip.decompress(packed) if path.suffix == ".gz" else packed
    for line in text.splitlines():
        trace = json.loads(line)
        yield [_span(trace["trace"], span) for span in trace["spans"]]


def _span(trace: str, told: dict[str, Any]) -> CallSpan:
    start_ns = _ns(told["start"])
    length = _LENGTH.fullmatch(told["dur"])
    parts = length.groups() if length else ()
    took_s = sum(float(part or 0) * unit for part, unit in zip(parts, _UNITS_S, strict=False))
    return CallSpan(
        id=told["id"],
        kind=_KINDS.get(told["kind"], Kind.WORKFLOW),
        name=told["tool"] or told["name"],
        parent=told["parent"],
        start_ns=start_ns,
        end_ns=start_ns + int(took_s * 1e6) * 1000,
        status=_STATUSES.get(told["status"], Status.UNKNOWN),
        execution=trace,
        session=trace,
    )


def _transcripts(folder: Path) -> Iterator[list[CallSpan]]:
    for path in sorted(folder.rglob("*.jsonl")):
        with path.open(encoding="utf-8", errors="replace") as lines:
            if spans := list(_calls(path.stem, lines)):
                yield spans


def _calls(session: str, lines: Iterable[str]) -> Iterator[CallSpan]:
    """Yield the tool calls of one transcript, each with its outcome; a prompt of a person begins a turn."""
    turn, calls, failed, ended = "0", [], set(), {}
    for line in lines:
        try:
            told = json.loads(line)
        except ValueError:
            continue  # a torn line affects no other line
        message = told.get("message") if isinstance(told, dict) else None
        message = message if isinstance(message, dict) else {}
        content = message.get("content")
        if isinstance(content, str) and told.get("type") == "user":
            turn = str(told.get("uuid", turn))
        for part in content if isinstance(content, list) else ():
            if part.get("type") == "tool_use":
                calls.append((part, turn, _ns(told["timestamp"]), str(message.get("id", ""))))
            elif part.get("type") == "tool_result":
                ended[part.get("tool_use_id")] = _ns(told["timestamp"])
                failed |= {part.get("tool_use_id")} if part.get("is_error") else set()
    for turn in dict.fromkeys(turn for _, turn, _, _ in calls):
        yield CallSpan(id=f"turn {turn}", kind=Kind.TURN, name="turn", execution=session, session=session)
    for part, turn, at_ns, message_id in calls:
        given = part.get("input") if isinstance(part.get("input"), dict) else {}
        texts = {name: value for name, value in given.items() if isinstance(value, str)}
        yield CallSpan(
            id=part["id"],
            kind=Kind.TOOL,
            name=part["name"],
            parent=f"turn {turn}",
            start_ns=at_ns,
            end_ns=max(at_ns, ended[part["id"]]) if part["id"] in ended else None,
            status=Status.FAILED if part["id"] in failed else Status.OK,
            execution=session,
            session=session,
            attributes=texts | {"message": message_id},
        )


def _ns(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1e6) * 1000


def main(argv: Sequence[str] | None = None, *, out: TextIO | None = None, err: TextIO | None = None) -> int:
    """Predict every call of the unseen sessions, by fine and by plain names."""
    del err
    parser = argparse.ArgumentParser(prog="python -m bench graph-next", description=__doc__)
    parser.add_argument("path", type=Path, help="a folder of transcripts, or a file of spans")
    args = parser.parse_args(argv)
    rows = []
    for fine in (True, False):
        sessions = sessions_of(args.path, fine=fine)
        if len(sessions) < 2:
            raise BenchError(f"'{args.path}' has {len(sessions)} sessions with calls: too few")
        told = told_of(sessions)
        for who in ("ours", "order-1 Markov", "popularity"):
            apart = f"{told.calibration:.3f}" if who == "ours" else ""
            rows.append(
                ("fine" if fine else "plain", who, f"{told.asked:,}", f"{told.right[who] / told.asked:.3f}", apart)
            )
    print(columns(("names", "who", "calls", "hit@1", "calibration error"), rows), file=out or sys.stdout)
    return 0
