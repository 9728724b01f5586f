"""Rules from files and variables: frozen Rules, each value with the place that set it.

May touch the environment and the user's own file, both named by the caller. It reads a repository's files only through
the function that it is given, so that the work tree and a commit are read alike. It writes nothing.

A file of a repository can set rules and nothing else: the fields of the Rules classes, which the caller passes, are
the only keys.
"""

from custody.config.document_files import VARIABLES, documents, nearest
from custody.config.file_text import FILE_BYTES_MAX
from custody.config.rule import EffectiveRules, IgnoredKey, Rule, RuleOrigin, RuleTables, Setting
from custody.config.rule_files import RuleFileReader, load, rule_files

__all__ = [
    "FILE_BYTES_MAX",
    "VARIABLES",
    "EffectiveRules",
    "IgnoredKey",
    "Rule",
    "RuleFileReader",
    "RuleOrigin",
    "RuleTables",
    "Setting",
    "documents",
    "load",
    "nearest",
    "rule_files",
]
