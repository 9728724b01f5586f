"""Rules from files and variables: frozen Rules, each value with its origin.

May touch the environment and the user's own file, both passed by the caller. It reads a repository's files only
through a function of the caller, so that the work tree and a commit are read the same way. It writes nothing.

A file of a repository can set only rules: the fields of the Rules classes that the caller passes.
"""

from typing import TYPE_CHECKING

from custody.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from custody.config.document_files import VARIABLES, list_rule_documents
    from custody.config.file_text import FILE_BYTES_MAX
    from custody.config.rule import EffectiveRules, IgnoredKey, Rule, RuleClasses, RuleOrigin, RuleTables, Setting
    from custody.config.rule_files import RuleFileReader, list_rule_files, load_rule_files, load_team_policy
    from custody.config.team_policy import (
        TEAM_FILE,
        TeamPolicy,
        TeamReviewer,
        TeamStore,
        parse_team_policy,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "document_files": "VARIABLES list_rule_documents",
            "file_text": "FILE_BYTES_MAX",
            "rule": "EffectiveRules IgnoredKey Rule RuleClasses RuleOrigin RuleTables Setting",
            "rule_files": "RuleFileReader list_rule_files load_rule_files load_team_policy",
            "team_policy": "TEAM_FILE TeamPolicy TeamReviewer TeamStore parse_team_policy",
        },
    )

__all__ = [
    "FILE_BYTES_MAX",
    "TEAM_FILE",
    "VARIABLES",
    "EffectiveRules",
    "IgnoredKey",
    "Rule",
    "RuleClasses",
    "RuleFileReader",
    "RuleOrigin",
    "RuleTables",
    "Setting",
    "TeamPolicy",
    "TeamReviewer",
    "TeamStore",
    "list_rule_documents",
    "list_rule_files",
    "load_rule_files",
    "load_team_policy",
    "parse_team_policy",
]
