"""From a file's nested tables to the rules that they set; whatever is no rule is refused by name and place."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from custody.config.rule import (
    SHOWN_CHARACTERS_MAX,
    Assignment,
    IgnoredKey,
    Rule,
    RuleOrigin,
    format_value,
    quote_place,
)
from custody.core.errors import InputError

USERS = frozenset(
    "apikey auth bin certificate certificates cmd command commands credential credentials database databases dsn"
    " endpoint endpoints exec executable hook hooks host key keys password plugin plugins port program proxy remote"
    " remotes secret secrets server service services shell signing ssh store token uri url urls".split()
)
"""Words of settings that are the user's: a repository's file that holds one is told so. No rule's name holds one."""


@dataclass(frozen=True, slots=True)
class FileKeys:
    """What a file may set: its name, the rule behind each dotted key, and whether it is the user's own."""

    file: str
    names: Mapping[str, Rule]
    dropped: Mapping[str, str] = field(default_factory=dict)
    """The constant behind each dotted key that set a rule once."""
    is_users: bool = False
    above: str = ""
    """Stands before every key of this file when it is named to people."""

    def settings(self, values: Mapping[str, object], at: str = "") -> Iterator[Assignment | IgnoredKey]:
        """What ``values``, the table at the dotted key ``at``, sets, and its keys that set nothing any more."""
        for key, value in values.items():
            name = f"{at}{key}"
            origin = RuleOrigin(self.file, self.above + name)
            if "." in key:  # a quoted key; taken for two keys it could set a rule a second time
                raise self._refused(origin, key, at)
            if name in self.names:
                rule = self.names[name]
                yield Assignment(rule.name, rule.read(value, origin), origin)
            elif name in self.dropped:
                yield IgnoredKey(origin, self.dropped[name])
            elif any(other.startswith(f"{name}.") for other in (*self.names, *self.dropped)):
                yield from self.settings(table_at(value, origin), f"{name}.")
            else:
                raise self._refused(origin, key, at)

    def first(self, at: str = "") -> list[str]:
        """The keys that may stand in the table at ``at``."""
        below = (name[len(at) :] for name in self.names if name.startswith(at))
        return list(dict.fromkeys(name.partition(".")[0] for name in below))

    def is_ours(self, key: str) -> bool:
        """Whether a key at the top of the file is or was one of ours, perhaps misspelt."""
        return is_near(key, {name.partition(".")[0] for name in (*self.names, *self.dropped)})

    def _refused(self, origin: RuleOrigin, key: str, at: str) -> InputError:
        if not self.is_users and split_rule_name(key) & USERS:
            return InputError(
                f"{quote_place(origin)} is not for a repository to set: its files set rules only",
                hint="endpoints, commands, tokens and keys belong into your own file, custody/config.toml below"
                " $XDG_CONFIG_HOME or ~/.config",
            )
        return make_unknown_name_error(origin, key, self.first(at) or self.names)


def table_at(value: object, origin: RuleOrigin) -> Mapping[str, object]:
    """``value`` as a table of keys."""
    if not isinstance(value, dict):
        raise InputError(
            f"{quote_place(origin)} should be a table of keys, not {format_value(value)}",
            hint="'custody rules' lists every rule",
        )
    return value


def make_unknown_name_error(origin: RuleOrigin, name: str, names: Iterable[str]) -> InputError:
    """The error for a name that is none of ``names``: it gives the nearest one."""
    return InputError(
        f"{quote_place(origin)} is nothing that custody knows",
        hint=f"the nearest is '{nearest(name, names)}'; 'custody rules' lists every rule",
    )


def nearest(name: str, names: Iterable[str]) -> str:
    """The one of ``names`` that looks most like ``name``."""
    from difflib import get_close_matches

    return get_close_matches(name[:SHOWN_CHARACTERS_MAX], list(names), n=1, cutoff=0.0)[0]


def is_near(name: str, names: Iterable[str]) -> bool:
    """Whether ``name`` is one of ``names`` or looks like one misspelt."""
    from difflib import get_close_matches

    return bool(get_close_matches(name[:SHOWN_CHARACTERS_MAX], list(names), n=1, cutoff=0.8))


def split_rule_name(name: str) -> set[str]:
    """The words that a name is made of.

    >>> sorted(split_rule_name("signingKey")), sorted(split_rule_name("api-token_2"))
    (['key', 'signing'], ['2', 'api', 'token'])
    """
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:200])
    return set(re.split(r"[^a-z0-9]+", parted.lower()))
