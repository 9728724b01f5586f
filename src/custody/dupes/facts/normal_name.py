"""Names in the one form in which equal ones are equal: of tests, of modules."""

import re

_HUMP = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+|[^\W_A-Za-z0-9]+")
_PUNCTUATION = re.compile(r"[\W_]+")
_SUBSTITUTED = re.compile(r"\$\{[^{}]*\}")
_SCRIPT_ENDING = re.compile(r"(?:\.d)?\.[cm]?[jt]sx?$")
_OWN = (".", "/", "~/", "@/", "#/")
"""How specifiers begin that name a file of the same project, not a package."""


def plain(text: str) -> str:
    """A sentence in small letters, without punctuation, one space between words.

    >>> plain("adds  `x`, returns ${n + 1} items!")
    'adds x returns items'
    """
    return _PUNCTUATION.sub(" ", _SUBSTITUTED.sub(" ", text).casefold()).strip()


def humps(identifier: str) -> list[str]:
    """The words of an identifier in small letters; a capital after a small letter begins one.

    >>> humps("parseHTTPHeader_v2"), humps("stacktrace")
    (['parse', 'http', 'header', 'v2'], ['stacktrace'])
    """
    return [word.casefold() for word in _HUMP.findall(identifier)]


def spelt(identifier: str) -> str:
    """An identifier as a sentence.

    >>> spelt("TestParser.test_readsNothing")
    'test parser test reads nothing'
    """
    return " ".join(humps(identifier))


def script_module(specifier: str) -> str:
    """What a script asks for: of the project's own files without ending and without ``/index``.

    >>> [script_module(name) for name in ("./x.js", "./x", "../lib/index.ts", "chart.js", "node:fs", "./a.json")]
    ['./x', './x', '../lib', 'chart.js', 'node:fs', './a.json']
    """
    if not specifier.startswith(_OWN):
        return specifier
    return _SCRIPT_ENDING.sub("", specifier).removesuffix("/index")
