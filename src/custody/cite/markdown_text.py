r"""How sources are written into Markdown: titles that cannot act, addresses that cannot end early.

``escape_markdown`` is for plain text (a registry's title), ``keep_inline_markup`` for Markdown that stood in a report.

>>> escape_markdown("Generic<T> in *depth* [2]")
'Generic\\<T\\> in \\*depth\\* \\[2\\]'
>>> keep_inline_markup("Generic<T> in *depth* [2]")
'Generic\\<T> in *depth* \\[2\\]'
>>> address("https://example.org/a b>c")
'<https://example.org/a%20b%3Ec>'
"""

import re
from collections.abc import Callable, Iterator
from typing import cast

import pyromark

_ACTIVE = re.compile(r"[\\`*_\[\]<>&~$|^]")
_CODE_OR_ESCAPE = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`)(?:(?!(?<!`)(?P=ticks)(?!`)).)*?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<marker>\[(?:\^[^\]\s]{1,80}|\s?S?[0-9][S0-9,;\s–-]{0,40})\])"
    r"|(?P<open><)",
    re.IGNORECASE,
)
_BLOCK_START = re.compile(
    r"(?P<number>[0-9]{1,9})[.)](?=\s|$)|#{1,6}(?=\s|$)|[-+*](?=\s|$)|>|=+$|~~~|```(?![^`]*`)|\[[ xX]\](?=\s|$)"
)
_UNSAFE = re.compile('[\x00-\x20"<>\\\\^`{|}\x7f]')
_EMPHASIS = re.compile(r"[*\[\]]")
_LINKED = re.compile(r"(?:https?|ftp)://[^\s<>]+", re.IGNORECASE)


def escape_markdown(text: str) -> str:
    """Plain text as Markdown that shows exactly it, on one line."""
    return _at_start(_ACTIVE.sub(r"\\\g<0>", " ".join(text.split())))


def keep_inline_markup(markdown: str, renamed: Callable[[str], str | None] = lambda _name: None) -> str:
    """Markdown of a report on one line, with its emphasis and code, without HTML and without markers.

    ``renamed`` says how a reference to a footnote is written now; what it does not know is shown as text.
    """

    def written(match: re.Match[str]) -> str:
        if match["open"]:
            return "\\<"
        if match["marker"]:
            new = renamed(match[0][2:-1]) if match[0].startswith("[^") else None
            return new or f"\\{match[0][:-1]}\\]"
        return match[0]

    line = " ".join(markdown.split())
    return _at_start(_CODE_OR_ESCAPE.sub(written, line) if "<" in line or "[" in line else line)


def plain(markdown: str) -> str:
    """Markdown of a report as the text that it shows: no emphasis, no links, no escapes; HTML is text.

    >>> plain("**Generic\\\\<T>** in `depth`")
    'Generic<T> in depth'
    """
    shown_text = [
        event["Text"] if "Text" in event else event["Code"] for event in _events(keep_inline_markup(markdown))
    ]
    return " ".join("".join(shown_text).split())


def whole_characters(text: str) -> str:
    """The text with a question mark for each half of a character, which UTF-8 and JSON cannot hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _events(markdown: str) -> Iterator[dict[str, str]]:
    for event in pyromark.events(whole_characters(markdown)):
        if isinstance(event, dict) and ("Text" in event or "Code" in event):
            yield cast(dict[str, str], event)


def address(url: str) -> str:
    """An address as a link; one that is not of the web is shown, never linked."""
    encoded = _UNSAFE.sub(_encoded, url.strip())
    return f"<{encoded}>" if _LINKED.fullmatch(encoded) else _EMPHASIS.sub(_encoded, encoded)


def _at_start(text: str) -> str:
    """What would begin a list, a heading or a quote at the start of a line does not."""
    match = _BLOCK_START.match(text)
    if match is None:
        return text
    if match["number"]:
        return f"{match['number']}\\{text[len(match['number']) :]}"
    return f"\\{text}"


def _encoded(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"
