"""The numbers of a review page, read from its HTML, and the same from the report of ``custody review --json``."""

import re
from collections.abc import Callable
from html import unescape
from typing import Any

Numbers = dict[str, Any]
_ARTICLE = re.compile(r'<article class="hunk[^"]*" id="[^"]*" data-hunk="([^"]+)">(.*?)</article>', re.DOTALL)
_TILE = re.compile(r"<div><h2>(.*?)</div>\s*(?=<div><h2>|</section>)", re.DOTALL)
TESTED = {
    "after-edit": "Tested after the last edit",
    "stale": "Not tested since the last edit",
    "failed": "The last test run failed",
    "none": "No test run recorded",
    "unknown": "No test run known",
}


def text_of(html: str) -> str:
    """Return the words of HTML in one line."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def numbers_on_pages(get: Callable[[str], str], path: str) -> Numbers:
    """Return the numbers on all pages of a review; ``get`` returns the HTML of a path once it is complete."""
    html = get(path)
    tiles = [
        text_of(tile)
        for tile in _TILE.findall(html.partition('class="summary-tiles"')[2].partition("</section>")[0] + "</section>")
    ]
    found: Numbers = {"tiles": tiles, "say": text_of(re.findall(r'<p class="say">(.*?)</p>', html, re.DOTALL)[0])}
    hunks: list[tuple[str, Numbers]] = []
    while True:
        hunks += [(unescape(id_), _hunk_on_page(body)) for id_, body in _ARTICLE.findall(html)]
        following = re.search(r'<a class="btn" href="([^"]+)" rel="next">', html)
        if following is None:
            break
        html = get(unescape(following[1]))
    return {**found, "hunks": hunks}


def _hunk_on_page(body: str) -> Numbers:
    head, _, rest = body.partition("</header>")
    words = text_of(head)
    level = re.search(r'class="level \w+">(\w+)<', head)
    counts = re.search(r"\+([\d,]+) −([\d,]+)", words)
    assert level and counts, words
    added, removed = (int(count.replace(",", "")) for count in counts.groups())
    found: Numbers = {"level": level[1].lower(), "added": added, "removed": removed}
    if '<aside class="proof' not in rest:
        return found
    card = rest.partition('<aside class="proof')[2]
    tested = re.search(r"<dt>Tested</dt>\s*<dd[^>]*><b>(.*?)</b>", card)
    assert tested, text_of(card)
    found["tested"] = tested[1]
    if sure := re.search(r'class="sure[^"]*">.*?</svg>(\w+)<', card, re.DOTALL):
        found["confidence"] = sure[1].lower()
    if more := re.search(r"(\d+) more prompts?", card):
        found["more_prompts"] = int(more[1])
    edited = text_of(card.partition("<dt>Edited</dt>")[2].partition("</dd>")[0])
    if call := re.search(r"call (\d+)(?: of (\d+))?", edited):
        found["call"] = (int(call[1]), int(call[2] or 0))
    return found


def numbers_in_report(report: Any) -> Numbers:
    """Return the same numbers from the JSON of the command; of a hunk only those that every card shows."""
    added = report["added"]
    total = sum(added.values())
    sure = [(author["certainty"], author["lines"]) for hunk in report["hunks"] for author in hunk["authors"]]
    strong = sum(lines for certainty, lines in sure if certainty in ("certain", "strong"))
    unknown = sum(lines for certainty, lines in sure if certainty == "unknown")
    weak = sum(lines for certainty, lines in sure if certainty in ("likely", "weak"))
    kinds = (("A", "agent", "agents"), ("M", "mixed", "both"), ("P", "person", "people"), ("?", "none", "unknown"))
    legend = " ".join(f"{letter} {added[kind]:,} {word}" for letter, kind, word in kinds if added[kind])
    tested = report["tested"]
    return {
        "say": report["summary"],
        "who": f"Who wrote the {total:,} added line{'' if total == 1 else 's'} {legend}".strip(),
        "tested": "No agent lines" if tested is None else f"{tested['tested']:,} of {tested['lines']:,} agent line",
        "sure": f"Strong or better for {strong:,} of {strong + unknown + weak:,} "
        f"{weak:,} likely or weak, {unknown:,} without any",
        "hunks": [(hunk["id"], hunk) for hunk in report["hunks"]],
    }


def compare_numbers(page: Numbers, report: Numbers) -> list[str]:
    """Return every difference between a page and the report."""
    wrong = [] if page["say"] == report["say"] else [f"summary: {page['say']!r} is not {report['say']!r}"]
    for tile, wanted in zip(page["tiles"], (report["who"], report["tested"], report["sure"]), strict=False):
        if wanted not in tile:
            wrong.append(f"tile: {tile!r} has no {wanted!r}")
    if [id_ for id_, _ in page["hunks"]] != [id_ for id_, _ in report["hunks"]]:
        wrong.append("the hunks are others, or in another order")
    for (id_, shown), (_, hunk) in zip(page["hunks"], report["hunks"], strict=False):
        wanted = {"level": hunk["risk"]["level"], "added": hunk["added"], "removed": hunk["removed"]}
        if "tested" in shown:
            wanted["tested"] = TESTED[hunk["tests"]["state"]]
        if "confidence" in shown:
            wanted["confidence"] = hunk["confidence"]
        if "more_prompts" in shown:
            wanted["more_prompts"] = len(hunk["prompts"]) - 1
        if "call" in shown:
            call = hunk["calls"][0]
            wanted["call"] = (call["number"], call["of"] or 0)
        if shown != wanted:
            wrong.append(f"{id_}: {shown} is not {wanted}")
    return wrong
