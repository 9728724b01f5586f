"""Random settings: any values, any layout, comments anywhere."""

import json
from typing import Any

from hypothesis import strategies as st

EVENTS = ("PreToolUse", "PostToolUse", "Stop", "Notification", "SessionStart")

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
scalars = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | texts
values: st.SearchStrategy[Any] = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
commands = st.builds(lambda word: {"type": "command", "command": word}, texts)
groups = st.builds(
    lambda matcher, hooks: ({"matcher": matcher} if matcher else {}) | {"hooks": hooks},
    st.sampled_from(["", "*", "Bash"]),
    st.lists(commands, max_size=2),
)
hooks = st.dictionaries(st.sampled_from(EVENTS), st.lists(groups, max_size=3), max_size=4)


@st.composite
def settings_values(draw: st.DrawFn) -> dict[str, Any]:
    """Return an object that may contain other tools' hooks."""
    value: dict[str, Any] = draw(st.dictionaries(texts.filter(lambda key: key != "hooks"), values, max_size=3))
    if draw(st.booleans()):
        place = draw(st.integers(0, len(value)))
        items = list(value.items())
        value = dict([*items[:place], ("hooks", draw(hooks)), *items[place:]])
    return value


spaces = st.sampled_from(["", "", " ", "\n", "\n  ", "\t", "\r\n", " // c\n", "/* c */", "//,]}\r\n", "\n/* { */\n"])


@st.composite
def laid_out(draw: st.DrawFn, value: Any, space: st.SearchStrategy[str] = spaces) -> str:
    """Return ``value`` as JSON with comments and trailing commas, randomly formatted."""

    def written(value: Any) -> str:
        if not isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=draw(st.booleans()))
        pairs = (
            [(json.dumps(key), each) for key, each in value.items()] if isinstance(value, dict) else enumerate(value)
        )
        inside = [
            draw(space)
            + (f"{key}{draw(space)}:{draw(space)}" if isinstance(key, str) else "")
            + written(each)
            + draw(space)
            for key, each in pairs
        ]
        comma = draw(st.sampled_from(["", ","])) if inside else ""
        opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
        return opening + ",".join(inside) + comma + draw(space) + closing

    return draw(space) + written(value) + draw(space)


@st.composite
def settings_files(draw: st.DrawFn) -> bytes:
    """Draw a settings file: neatly formatted, or with unusual formatting."""
    value = draw(settings_values())
    neat = st.sampled_from([None, 1, 2, 4, "\t"]).map(lambda indent: json.dumps(value, indent=indent))
    text = draw(neat | laid_out(value))
    return (draw(st.sampled_from(["", "\ufeff"])) + text + draw(st.sampled_from(["", "\n"]))).encode()
