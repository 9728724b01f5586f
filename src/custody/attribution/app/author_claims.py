"""What people say they wrote by hand: it explains lines that no agent is known to have written.

Such a statement is self-reported. It is never evidence for the gate or for trust, and never replaces that of an agent:
there it is shown beside it, as a contradiction.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from msgspec.structs import replace

from custody.attribution.app.answers import AuthorStatement, LineAnswer
from custody.attribution.app.context import AttributionContext, FileVersion
from custody.attribution.queries.author_claims import list_author_claims
from custody.attribution.text import hash_segment_lines, is_informative_lineage_line, split_lineage_lines
from custody.core.paths import Lines, RepoPath

CLAIMS_MAX = 10_000
"""Maximum statements that are compared with a file, the newest ones."""

LineStatements = Mapping[int, tuple[AuthorStatement, ...]]


def list_claimed_paths(evidence: AttributionContext) -> frozenset[RepoPath]:
    """Return the files about which somebody recorded that they wrote lines."""
    return frozenset(claim.view.path for claim in list_author_claims(evidence.store, CLAIMS_MAX))


def add_author_claims(
    evidence: AttributionContext, version: FileVersion, answers: Sequence[LineAnswer]
) -> list[LineAnswer]:
    """Return ``answers`` with what people say about their lines."""
    statements = _find_statements(evidence, version)
    if not statements:
        return list(answers)
    return [part for answer in answers for part in _split_answer(version, answer, statements)]


def _find_statements(evidence: AttributionContext, version: FileVersion) -> LineStatements:
    """Return the statements about each line that is in a run of claimed lines with at least one telling line."""
    found: dict[int, tuple[AuthorStatement, ...]] = {}
    for claim in list_author_claims(evidence.store, CLAIMS_MAX):
        content = claim.view.text.content
        if content is None:
            continue  # erased, or not shared
        claimed = frozenset(split_lineage_lines(content))
        statement = AuthorStatement(claim.view.person, claim.view.at_ns, claim.view.message, claim.record.ref)
        for lines in _find_claimed_runs(version.texts, claimed):
            for number in range(lines.first, lines.last + 1):
                found[number] = (*found.get(number, ()), statement)
    return found


def _find_claimed_runs(texts: Sequence[str], claimed: frozenset[str]) -> Iterator[Lines]:
    """Yield the runs of lines with a claimed text; blank lines and braces alone show nothing."""
    for is_claimed, run in groupby(enumerate(texts, start=1), key=lambda pair: pair[1] in claimed):
        numbered = list(run)
        if is_claimed and any(is_informative_lineage_line(text) for _, text in numbered):
            yield Lines(numbered[0][0], numbered[-1][0])


def _split_answer(version: FileVersion, answer: LineAnswer, statements: LineStatements) -> Iterator[LineAnswer]:
    """Yield an answer in parts with the same statements."""
    numbers = range(answer.lines.first, answer.lines.last + 1)
    runs = [(said, list(run)) for said, run in groupby(numbers, key=lambda number: statements.get(number, ()))]
    if len(runs) == 1:
        yield replace(answer, statements=runs[0][0])
        return
    for said, run in runs:
        lines = Lines(run[0], run[-1])
        hashed = hash_segment_lines(version.texts[lines.first - 1 : lines.last])
        segment = replace(answer.finding.segment, lines=lines, hash=hashed)
        yield replace(answer, finding=replace(answer.finding, segment=segment), statements=said)
