"""What a file of a change is for, by its path and the rules in force."""

from custody.config import EffectiveRules
from custody.dupes.rules import DedupeRules


def name_file_channel(effective: EffectiveRules, path: str) -> str:
    """Return ``production``, ``tests``, ``docs``, ``meta`` or ``generated``."""
    from custody.dupes.facts.extractor import classify_file_channel  # loads readers of languages

    return classify_file_channel(path, effective.of(DedupeRules).channel_patterns).value


def is_source_path(path: str) -> bool:
    """Return whether a file holds source code, by the end of its name."""
    from custody.dupes.facts.extractor import is_source_file  # loads readers of languages

    return is_source_file(path)
