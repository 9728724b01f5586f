"""The files and variables of the documents, and the rule of each of their names."""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

from msgspec import Struct, field

from custody.config.rule import (
    SHOWN_CHARACTERS_MAX,
    Assignment,
    IgnoredKey,
    Rule,
    RuleOrigin,
    RuleTables,
    escape_rule_text,
    format_rule_value,
    quote_rule_origin,
)
from custody.core.errors import InputError
from custody.core.patterns import lazy_pattern

USERS = frozenset(
    "apikey auth bin certificate certificates cmd command commands credential credentials database databases dsn"
    " endpoint endpoints exec executable hook hooks host key keys password plugin plugins port program proxy remote"
    " remotes secret secrets server service services shell signing ssh store token uri url urls".split()
)
"""Words of settings that only the user may set; a repository's file with one gets a special error."""


class FileKeys(Struct, frozen=True):
    """The keys of a file: its name, the rule of each dotted key, and whether it is the user's own."""

    file: str
    names: Mapping[str, Rule]
    dropped: Mapping[str, str] = field(default_factory=dict)
    """The constant of each dotted key that was a rule once."""
    is_users: bool = False
    above: str = ""
    """The prefix of every key of this file in messages."""

    def settings(self, values: Mapping[str, object], at: str = "") -> Iterator[Assignment | IgnoredKey]:
        """Yield the rules that ``values`` sets (the table at the dotted key ``at``), and its keys without effect."""
        for key, value in values.items():
            name = f"{at}{key}"
            origin = RuleOrigin(self.file, self.above + name)
            if "." in key:  # a quoted key, which as two keys could set a rule a second time
                raise self._make_key_error(origin, key, at)
            if name in self.names:
                rule = self.names[name]
                yield Assignment(rule.name, rule.read(value, origin), origin)
            elif name in self.dropped:
                yield IgnoredKey(origin, self.dropped[name])
            elif any(other.startswith(f"{name}.") for other in (*self.names, *self.dropped)):
                yield from self.settings(require_rule_table(value, origin), f"{name}.")
            else:
                raise self._make_key_error(origin, key, at)

    def first(self, at: str = "") -> list[str]:
        """Return the keys that the table at ``at`` may have."""
        below = (name[len(at) :] for name in self.names if name.startswith(at))
        return list(dict.fromkeys(name.partition(".")[0] for name in below))

    def is_ours(self, key: str) -> bool:
        """Return whether a top-level key is or was one of ours, possibly misspelled."""
        return is_near_rule_name(key, {name.partition(".")[0] for name in (*self.names, *self.dropped)})

    def _make_key_error(self, origin: RuleOrigin, key: str, at: str) -> InputError:
        if not self.is_users and split_rule_name(key) & USERS:
            return InputError(
                f"a repository cannot set {quote_rule_origin(origin)}: its files set only rules",
                hint="set endpoints, commands, tokens and keys in your own file, custody/config.toml in"
                " $XDG_CONFIG_HOME or ~/.config",
            )
        return make_unknown_rule_error(origin, key, self.first(at) or self.names)


def require_rule_table(value: object, origin: RuleOrigin) -> Mapping[str, object]:
    """Return ``value`` as a table of keys."""
    if not isinstance(value, dict):
        raise InputError(
            f"{quote_rule_origin(origin)} must be a table of keys, not {format_rule_value(value)}",
            hint="'custody rules' lists every rule",
        )
    return value


def make_unknown_rule_error(origin: RuleOrigin, name: str, names: Iterable[str]) -> InputError:
    """Return the error for a name that is not in ``names``, with the nearest one."""
    return InputError(
        f"unknown rule {quote_rule_origin(origin)}",
        hint=f"did you mean '{nearest_rule_name(name, names)}'? 'custody rules' lists every rule",
    )


def nearest_rule_name(name: str, names: Iterable[str]) -> str:
    """Return the one of ``names`` that is most similar to ``name``."""
    from difflib import get_close_matches

    return get_close_matches(name[:SHOWN_CHARACTERS_MAX], list(names), n=1, cutoff=0.0)[0]


def is_near_rule_name(name: str, names: Iterable[str]) -> bool:
    """Return whether ``name`` is one of ``names`` or similar to one."""
    from difflib import get_close_matches

    return bool(get_close_matches(name[:SHOWN_CHARACTERS_MAX], list(names), n=1, cutoff=0.8))


def split_rule_name(name: str) -> set[str]:
    """Return the words of a name.

    >>> sorted(split_rule_name("signingKey")), sorted(split_rule_name("api-token_2"))
    (['key', 'signing'], ['2', 'api', 'token'])
    """
    separated = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:200])
    return set(re.split(r"[^a-z0-9]+", separated.lower()))


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
"""The names of document 002; the rules' own names work too, since it names few of them."""
REST, REST_VALUES = "production", ("default", "default remainder")
"""The channel without patterns, and its values in document 002."""


class DocumentFile(Struct, frozen=True):
    """A file that a document describes; with ``is_shared`` it may have tables of other programs."""

    keys: FileKeys
    is_shared: bool = False

    @property
    def path(self) -> str:
        """Return its path in a repository."""
        return self.keys.file

    def read(self, value: object) -> list[Assignment | IgnoredKey] | None:
        """Return what the file sets; None if it has none of our keys, because it may belong to another program."""
        top = require_rule_table({} if value is None else value, RuleOrigin(self.path))
        ours = {key: value for key, value in top.items() if self.keys.is_ours(key)}
        if top and not ours:
            return None
        return _reject_repeated_rules(
            list(self.keys.settings(ours if self.is_shared else _drop_rest_channel(self.keys, top)))
        )


def _drop_rest_channel(keys: FileKeys, top: Mapping[str, object]) -> Mapping[str, object]:
    if REST not in top or "tests" not in keys.names:
        return top
    if top[REST] not in REST_VALUES:
        raise InputError(
            f"{quote_rule_origin(RuleOrigin(keys.file, REST))} cannot have patterns: it gets all other files",
            hint=f"remove it, or set '{REST_VALUES[-1]}'",
        )
    return {key: value for key, value in top.items() if key != REST}


def _reject_repeated_rules(entries: list[Assignment | IgnoredKey]) -> list[Assignment | IgnoredKey]:
    """Return the entries; raise an error if two keys of one file set the same rule."""
    origins: dict[str, RuleOrigin] = {}
    for assignment in entries:
        if isinstance(assignment, IgnoredKey):
            continue
        if first := origins.get(assignment.rule):
            raise InputError(
                f"{quote_rule_origin(assignment.origin)} and '{first.key}' set the same rule, '{assignment.rule}'",
                hint="remove one of them",
            )
        origins[assignment.rule] = assignment.origin
    return entries


def list_rule_documents(tables: RuleTables) -> tuple[DocumentFile, ...]:
    """Return every file that the documents describe."""
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
_NUMBER = lazy_pattern(r"[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20}", re.ASCII)


def rule_assignments_from_environment(environment: Mapping[str, str]) -> list[Assignment]:
    """Return what the documents' variables set; a variable that is set must be a number."""
    names = sorted(name for name in environment if name.startswith(PREFIX))
    return [_rule_assignment_from_variable(name, environment[name]) for name in names]


def _rule_assignment_from_variable(name: str, text: str) -> Assignment:
    if name not in VARIABLES:
        raise make_unknown_rule_error(RuleOrigin(name), name, VARIABLES)
    if not _NUMBER.fullmatch(text):
        raise InputError(
            f"the variable '{escape_rule_text(name)}' must be a number such as 0.8, not {format_rule_value(text)}",
            hint="unset it to use the value of the files",
        )
    return Assignment("trust.tier_score_min", float(text), RuleOrigin(name), entry=VARIABLES[name])
