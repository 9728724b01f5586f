"""When two changes are compared as rewrites (document 002, section 9).

This file is the only one that says what makes a rewrite.
"""

from custody.dupes.changeset import ChangeSet
from custody.dupes.rules import DedupeRules
from custody.sketch.shingles import jaccard


def rewrite_reason(a: ChangeSet, b: ChangeSet, rules: DedupeRules) -> str | None:
    """Return why the two are compared as rewrites; None if they are not.

    The first three triggers are of one change alone, the last of both. What is missing triggers nothing.
    """
    return _own_reason(a, rules) or _own_reason(b, rules) or _mutual_reason(a, b, rules)


def _own_reason(change: ChangeSet, rules: DedupeRules) -> str | None:
    if change.lines_changed > rules.rewrite_lines_max:
        return f"one of them changes {change.lines_changed:,} lines, more than {rules.rewrite_lines_max:,}"
    if change.files_changed > rules.rewrite_files_max:
        return f"one of them changes {change.files_changed:,} files, more than {rules.rewrite_files_max:,}"
    if change.files_renamed > rules.rewrite_renames_share_max * change.files_changed:
        limit = f"{rules.rewrite_renames_share_max:.0%}"
        return f"one of them renames {change.files_renamed:,} of {change.files_changed:,} files, more than {limit}"
    return None


def _mutual_reason(a: ChangeSet, b: ChangeSet, rules: DedupeRules) -> str | None:
    if not a.shingles or not b.shingles:
        return None
    code, paths = jaccard(a.shingles, b.shingles), jaccard(a.paths, b.paths)
    if code is None or paths is None:
        return None
    if code < rules.rewrite_minhash_min and paths > rules.rewrite_paths_max:
        return f"they share {paths:.0%} of their files, but only {code:.0%} of their code"
    return None
