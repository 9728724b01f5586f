"""The rules by which a change is judged: those of its base, so that no change can set its own."""

from dataclasses import dataclass

from custody.config import EffectiveRules, Setting, rule_files
from custody.core.errors import InputError
from custody.core.wire.canonical import dump
from custody.core.wire.rules_digest import rule_value
from custody.gate.app.change import ChangeUnderReview
from custody.workspace.rules_in_force import loaded_at


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules in force for a change, where they were set, and what the change would set anew."""

    rules: EffectiveRules
    sources: tuple[str, ...]
    changed: tuple[str, ...]


def policy_of(review: ChangeUnderReview) -> Policy:
    """What the files of the base set, whoever asks; and which of it the change's own files differ in.

    What a user sets for themselves does not count: a verdict is the same for everybody, and nobody switches it off.
    """
    rules, sources = loaded_at(review.repository, review.change.base, {})
    read = tuple(source.name for source in sources if source.state == "read")
    return Policy(rules, read, _changed(review))


def _changed(review: ChangeUnderReview) -> tuple[str, ...]:
    """The rules that the head's files set otherwise than the files of the point where it left its base."""
    touched = {
        side.path for file in review.change.files for side in (file.change.old, file.change.new) if side is not None
    }
    if touched.isdisjoint(rule_files()):
        return ()
    before = loaded_at(review.repository, review.change.fork, {})[0]
    try:
        after = loaded_at(review.repository, review.change.head, {})[0]
    except InputError as error:
        return (f"they cannot be read: {error.message}",)
    pairs = zip(before.settings, after.settings, strict=True)
    return tuple(f"{old.rule.name} from {_shown(old)} to {_shown(new)}" for old, new in pairs if old.value != new.value)


def _shown(setting: Setting) -> str:
    return dump(rule_value(setting.value)).decode()
