"""Excerpts of prompts that a push publishes, if the base branch asks for it.

May touch the store of the caller, and the repository of the workspace for the rules of its base branch.
"""

from collections.abc import Iterator

from msgspec import Struct

from custody.core.errors import InputError
from custody.core.ids import CommitSha, StoreId
from custody.core.views import Prompt
from custody.core.wire.canonical import Json
from custody.core.wire.prompt_excerpts import (
    EXCERPTS_MAX,
    PromptExcerpt,
    encode_prompt_excerpts,
    excerpt_prompt,
)
from custody.gate.app.verdict_subject import find_default_base
from custody.intake.record import open_redaction_key, redact_event_payload
from custody.ledger.queries import list_linked_prompts
from custody.runs.app.evidence import get_review_rules
from custody.store import Store
from custody.workspace.rules_in_force import load_rules_at_commit
from custody.workspace.workspace import Workspace

REDACTED_CHARACTERS_MAX = 50_000
"""Characters of a prompt that are searched for secrets before it is cut."""
NAME_CHARACTERS_MAX = 1_000


class PromptPolicy(Struct, frozen=True):
    """Whether the base branch of a remote publishes excerpts of prompts; ``why`` says why not, if it does not."""

    base: str | None
    is_published: bool
    why: str | None = None


NOT_PUBLISHED = PromptPolicy(None, is_published=False, why="the texts are shared in full")


def find_prompt_policy(workspace: Workspace, remote: str | None) -> PromptPolicy:
    """Return what ``custody.toml`` of the base branch says: that of a git remote as last fetched, else the usual one.

    Nothing else can turn it on: no file of another branch, of the user or of the environment.
    """
    if workspace.home is None:
        return PromptPolicy(None, is_published=False, why="not inside a repository")
    base = _find_base(workspace, remote)
    if base is None:
        return PromptPolicy(None, is_published=False, why="the base branch is unknown: run 'git fetch' first")
    name, commit = base
    try:
        rules = get_review_rules(load_rules_at_commit(workspace.repository, commit, {})[0])
    except InputError as error:
        return PromptPolicy(name, is_published=False, why=error.message)
    off = None if rules.publish_prompts else f"review.publish_prompts is off in custody.toml of {name}"
    return PromptPolicy(name, rules.publish_prompts, off)


def _find_base(workspace: Workspace, remote: str | None) -> tuple[str, CommitSha] | None:
    """Return the name and the commit of the base branch."""
    repository = workspace.repository
    if remote is None:
        name = find_default_base(repository)
    else:
        known = {ref.name.decode("utf-8", "replace") for ref in repository.refs(f"refs/remotes/{remote}/")}
        names = (f"refs/remotes/{remote}/{branch}" for branch in ("HEAD", "main", "master"))
        name = next((name for name in names if name in known), None)
    if name is None:
        return None
    return name.removeprefix("refs/remotes/").removeprefix("refs/heads/"), repository.resolve(name)


def make_published_prompts(workspace: Workspace, store: Store, chain: StoreId, policy: PromptPolicy) -> bytes:
    """Return the file with the excerpts that a push publishes with a chain; empty without any."""
    return encode_prompt_excerpts(chain, tuple(list_published_prompts(workspace, store, chain, policy)))


def list_published_prompts(
    workspace: Workspace, store: Store, chain: StoreId, policy: PromptPolicy
) -> list[PromptExcerpt]:
    """Return the excerpts of the prompts of linked sessions whose text is stored here, in order; none if it is off."""
    if not policy.is_published:
        return []
    found: dict[tuple[str, str, str], PromptExcerpt] = {}
    for observed in list_linked_prompts(store, chain, EXCERPTS_MAX):
        for excerpt in _make_excerpt(workspace, observed.view):
            found.setdefault(excerpt.key, excerpt)
    return sorted(found.values(), key=lambda excerpt: excerpt.key)


def _make_excerpt(workspace: Workspace, prompt: Prompt) -> Iterator[PromptExcerpt]:
    """Yield the excerpt of a prompt; secrets are removed from the text before it is cut."""
    if prompt.text.content is None or max(map(len, (prompt.agent, prompt.session, prompt.id))) > NAME_CHARACTERS_MAX:
        return
    event: dict[str, Json] = {"text": prompt.text.content[:REDACTED_CHARACTERS_MAX]}
    try:
        clean = redact_event_payload(event, lambda: open_redaction_key(workspace))
    except InputError:
        return  # a text that cannot be redacted is not published
    text = excerpt_prompt(str(clean["text"]).encode("utf-8", "replace").decode("utf-8"))
    if text:
        yield PromptExcerpt(prompt.agent, prompt.session, prompt.id, text)
