"""Text of records in Markdown of GitHub and GitLab: no markup, link, mention, reference or command.

Both find mentions and references after they rendered the Markdown, so that an escaped ``#12`` is a link again. An
invisible joiner after the first character takes its meaning away.
"""

from custody.core.patterns import lazy_pattern

JOINER = "\u2060"
"""WORD JOINER: shown as nothing, and part of no name."""
_PUNCTUATION = frozenset("!\"#$%&'()*+-./:;<=>?@[\\]^_`{|}~")
_REFERENCES = lazy_pattern(r"([@#!$%^~&](?=[\w\"{]))|((?<=[A-Za-z])-(?=\d))|(:(?=//))|((?i:(?<![^\W_])www)(?=\.))")
_HEX_RUN = lazy_pattern(r"([0-9a-fA-F]{6})(?=[0-9a-fA-F])")


def escape_markdown(text: str) -> str:
    """Return a text for Markdown on one line, without meaning for GitHub and GitLab.

    >>> escape_markdown("a_b <img>")
    'a&#95;b &#60;img&#62;'
    >>> escape_markdown("@all #12") == f"&#64;{JOINER}all &#35;{JOINER}12"
    True
    """
    joined = _HEX_RUN.sub(rf"\1{JOINER}", _REFERENCES.sub(rf"\g<0>{JOINER}", _drop_controls(text)))
    return _encode_punctuation(joined)


def quote_markdown_code(text: str) -> str:
    """Return a text as inline code, where GitHub and GitLab find neither mentions nor references; it can be copied.

    >>> quote_markdown_code("a`b")
    '<code>a&#96;b</code>'
    """
    return f"<code>{_encode_punctuation(_drop_controls(text))}</code>"


def quote_markdown_block(lines: list[str]) -> str:
    """Return lines as a block of preformatted text."""
    return "<pre>" + "\n".join(_encode_punctuation(_drop_controls(line)) for line in lines) + "</pre>"


def _drop_controls(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _encode_punctuation(text: str) -> str:
    return "".join(f"&#{ord(character)};" if character in _PUNCTUATION else character for character in text)
