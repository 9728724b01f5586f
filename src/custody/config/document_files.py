"""The documents' own files and variables, and which of our rules each of their names stands for."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from custody.config.rule import (
    SHOWN_CHARACTERS_MAX,
    Assignment,
    IgnoredKey,
    Rule,
    RuleOrigin,
    RuleTables,
    format_value,
    printable,
    quote_place,
)
from custody.core.errors import InputError

# From a file's nested tables to the rules that they set; whatever is no rule is refused by name and place.


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


TRUST_FILE, CHANNEL_FILE, THRESHOLD_FILE = DOCUMENT_PATHS = (
    ".ai-git/config.yaml",
    "config/classification_rules.yaml",
    "config/thresholds.yaml",
)
CHANNEL_RULES = "dedupe.channel_patterns."
TRUST = "trust.decay_half_life_days", "trust.recovery_rate", "trust.ema_alpha"
THRESHOLDS = MappingProxyType(
    {
        "w1": "dedupe.weights.prod_minhash_sim",
        "w2": "dedupe.weights.prod_exports_sim",
        "w3": "dedupe.weights.prod_symbols_sim",
        "w4": "dedupe.weights.prod_files_sim",
        "w5": "dedupe.weights.prod_imports_sim",
        "wt": "dedupe.weights.tests_intent_sim",
        "wd": "dedupe.weights.docs_struct_sim",
        "testCap": "dedupe.tests_score_max",
        "docCap": "dedupe.docs_score_max",
        "containThreshold": "dedupe.contain_min",
        "epsilon": "dedupe.contain_growth_min",
        "rewriteLineThreshold": "dedupe.rewrite_lines_max",
        "rewriteFileThreshold": "dedupe.rewrite_files_max",
    }
)
"""The names of document 002; the rules' own names are taken beside them, since it leaves most of them open."""
REST, REST_SAID = "production", ("default", "default remainder")
"""The channel without patterns, and what document 002 says of it."""


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """A file that a document describes; with ``is_shared`` other programs keep tables of their own in it."""

    keys: FileKeys
    is_shared: bool = False

    @property
    def path(self) -> str:
        """Where it lies in a repository."""
        return self.keys.file

    def read(self, value: object) -> list[Assignment | IgnoredKey] | None:
        """What the file sets; None if no key in it is ours, because such a path may be anybody's."""
        top = table_at({} if value is None else value, RuleOrigin(self.path))
        ours = {key: value for key, value in top.items() if self.keys.is_ours(key)}
        if top and not ours:
            return None
        return _once(list(self.keys.settings(ours if self.is_shared else _without_rest(self.keys, top))))


def _without_rest(keys: FileKeys, top: Mapping[str, object]) -> Mapping[str, object]:
    if REST not in top or "tests" not in keys.names:
        return top
    if top[REST] not in REST_SAID:
        raise InputError(
            f"{quote_place(RuleOrigin(keys.file, REST))} has no patterns: it is what no other channel takes",
            hint=f"leave it out, or say '{REST_SAID[-1]}'",
        )
    return {key: value for key, value in top.items() if key != REST}


def _once(entries: list[Assignment | IgnoredKey]) -> list[Assignment | IgnoredKey]:
    """The same, unless two keys of one file set one rule."""
    seen: dict[str, RuleOrigin] = {}
    for assignment in entries:
        if isinstance(assignment, IgnoredKey):
            continue
        if first := seen.get(assignment.rule):
            raise InputError(
                f"{quote_place(assignment.origin)} and '{first.key}' set the same rule, '{assignment.rule}'",
                hint="keep one of the two",
            )
        seen[assignment.rule] = assignment.origin
    return entries


def documents(tables: RuleTables) -> tuple[DocumentFile, ...]:
    """Every file that the documents describe."""
    rules = tables.rules
    dedupe = tables.rules_of("dedupe").items()
    channels = {name.removeprefix(CHANNEL_RULES): rule for name, rule in dedupe if name.startswith(CHANNEL_RULES)}
    own = {name.removeprefix("dedupe."): rule for name, rule in dedupe if not name.startswith(CHANNEL_RULES)}
    thresholds = {key: rules[name] for key, name in THRESHOLDS.items()}
    dropped = {
        name.removeprefix("dedupe."): constant
        for name, constant in tables.dropped.items()
        if name.startswith("dedupe.")
    }
    return (
        DocumentFile(FileKeys(TRUST_FILE, {name: rules[name] for name in TRUST}), is_shared=True),
        DocumentFile(FileKeys(CHANNEL_FILE, channels)),
        DocumentFile(FileKeys(THRESHOLD_FILE, thresholds | own, dropped)),
    )


PREFIX = "ANSIBEL_TRUST_THRESHOLD_"
VARIABLES: Mapping[str, int] = MappingProxyType({f"{PREFIX}HIGH": 3, f"{PREFIX}MEDIUM": 2})
"""The variables of document 001, and the entry of ``trust.tier_score_min`` that each sets."""
_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20}", re.ASCII)


def from_environment(environment: Mapping[str, str]) -> list[Assignment]:
    """What the documents' variables set; one that is not set sets nothing, one that is set must be a number."""
    names = sorted(name for name in environment if name.startswith(PREFIX))
    return [_variable(name, environment[name]) for name in names]


def _variable(name: str, text: str) -> Assignment:
    if name not in VARIABLES:
        raise make_unknown_name_error(RuleOrigin(name), name, VARIABLES)
    if not _NUMBER.fullmatch(text):
        raise InputError(
            f"the variable '{printable(name)}' should be a number such as 0.8, not {format_value(text)}",
            hint="unset it to use the value of the files",
        )
    return Assignment("trust.tier_score_min", float(text), RuleOrigin(name), entry=VARIABLES[name])
