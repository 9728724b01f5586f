"""The nouns of the gate: evidence about a change, reasons by code, the verdict."""

from collections.abc import Mapping, Sequence
from enum import Enum
from types import MappingProxyType

from msgspec import Struct

from custody.attribution import Grade, LineOwner, format_certainty
from custody.cite import Finding
from custody.core.assurance import Assurance, find_lowest_assurance
from custody.core.evidence import ChangePeriod
from custody.core.paths import Lines
from custody.core.record import RecordingGap
from custody.dupes import Category, DuplicateVerdict
from custody.runs import ComparedStatement, StatementState, TestEvidence, TestState
from custody.trust import Approval, ChangeAuthor, FileVoucher

# The table of all reasons; only this file says which reason may not be milder than which.


class VerdictLevel(Enum):
    """The level of a verdict or a reason, from the mildest to the strictest."""

    APPROVE = "approve"
    REVIEW = "review"
    BLOCK = "block"

    @property
    def strictness(self) -> int:
        """Return its place in the order, from 0."""
        return list(VerdictLevel).index(self)


class ReasonCode(Enum):
    """The code of a reason; the part before the hyphen names the check."""

    ATTR_UNSEEN = "ATTR-UNSEEN"
    ATTR_NONE = "ATTR-NONE"
    ATTR_SELF = "ATTR-SELF"
    ATTR_WEAK = "ATTR-WEAK"
    ATTR_SHARE = "ATTR-SHARE"
    TRUST_UNKNOWN = "TRUST-UNKNOWN"
    TRUST_UNTRUSTED = "TRUST-UNTRUSTED"
    TRUST_SAMPLES = "TRUST-SAMPLES"
    TRUST_IDLE = "TRUST-IDLE"
    TRUST_SIZE = "TRUST-SIZE"
    TRUST_BUDGET = "TRUST-BUDGET"
    TRUST_PATH = "TRUST-PATH"
    TRUST_KIND = "TRUST-KIND"
    TRUST_REJECTED = "TRUST-REJECTED"
    TRUST_CLOCK = "TRUST-CLOCK"
    TRUST_CHANCE = "TRUST-CHANCE"
    TRUST_AUDIT = "TRUST-AUDIT"
    DUPE_UNSEEN = "DUPE-UNSEEN"
    DUPE_SAME = "DUPE-SAME"
    DUPE_LIKELY = "DUPE-LIKELY"
    DUPE_COMPETING = "DUPE-COMPETING"
    CITE_UNSEEN = "CITE-UNSEEN"
    CITE_UNCITED = "CITE-UNCITED"
    CITE_BROKEN = "CITE-BROKEN"
    CITE_UNREAD = "CITE-UNREAD"
    CITE_MISSING = "CITE-MISSING"
    GRAPH_UNSEEN = "GRAPH-UNSEEN"
    GRAPH_UNUSUAL = "GRAPH-UNUSUAL"
    TEST_NONE = "TEST-NONE"
    TEST_STALE = "TEST-STALE"
    TEST_FAILED = "TEST-FAILED"
    STATEMENT_UNBACKED = "STATEMENT-UNBACKED"
    STATEMENT_CONTRADICTED = "STATEMENT-CONTRADICTED"
    INTEG_UNSEEN = "INTEG-UNSEEN"
    INTEG_DAMAGE = "INTEG-DAMAGE"
    REVIEW_UNREAD = "REVIEW-UNREAD"
    POLICY_CHANGED = "POLICY-CHANGED"


class ReasonInfo(Struct, frozen=True):
    """The meaning of a reason, its remedy, its default level, and the reasons it may never be milder than.

    Lost evidence turns each of ``never_milder_than`` into this reason, and losing evidence must not help.
    """

    meaning: str
    remedy: str
    never_milder_than: tuple[ReasonCode, ...] = ()
    usual: VerdictLevel = VerdictLevel.REVIEW


_TRUST = tuple(code for code in ReasonCode if code.value.startswith("TRUST-"))
_BY_AGENTS = (
    *_TRUST,
    ReasonCode.CITE_UNREAD,
    ReasonCode.CITE_MISSING,
    ReasonCode.GRAPH_UNSEEN,
    ReasonCode.GRAPH_UNUSUAL,
    ReasonCode.TEST_NONE,
    ReasonCode.TEST_STALE,
    ReasonCode.TEST_FAILED,
    ReasonCode.STATEMENT_UNBACKED,
    ReasonCode.STATEMENT_CONTRADICTED,
)
"""Reasons that apply only to lines known to be an agent's."""
_CITE = tuple(code for code in ReasonCode if code.value.startswith("CITE-"))
_ANSWERS = tuple(code for code in ReasonCode if code.value.partition("-")[0] not in ("INTEG", "POLICY"))
READ_IT = "have a person read the change"

CODES: Mapping[ReasonCode, ReasonInfo] = MappingProxyType(
    {
        ReasonCode.ATTR_UNSEEN: ReasonInfo(
            "It could not be checked who wrote all of the added lines. Either nothing was recorded in this repository,"
            " recording failed while the change was made, the store is unreadable, or a file is.",
            "have a person read the change; 'custody doctor' shows what is missing",
            (ReasonCode.ATTR_NONE, ReasonCode.ATTR_SELF, ReasonCode.ATTR_WEAK, ReasonCode.ATTR_SHARE, *_BY_AGENTS),
        ),
        ReasonCode.ATTR_NONE: ReasonInfo(
            "Some added lines have an unknown author (no evidence either way). Or, where `gate.assurance_min` requires"
            " it, no recorded edit made a file what it is: lines were removed, moved or left out.",
            "import the transcripts of the sessions that worked on it, or have a person read these lines",
            (ReasonCode.ATTR_SELF, ReasonCode.ATTR_WEAK, ReasonCode.ATTR_SHARE, *_BY_AGENTS),
        ),
        ReasonCode.ATTR_SELF: ReasonInfo(
            "Only evidence below `gate.assurance_min` says that a person wrote some added lines: the account that"
            " profits could have written it. Their author counts as unknown, so this reason is never milder than"
            " ATTR-NONE.",
            "have a person read these lines; 'custody store' shows how to enroll the store that recorded them",
            (ReasonCode.ATTR_WEAK,),
        ),
        ReasonCode.ATTR_WEAK: ReasonInfo(
            "The author of some added lines is known on weak evidence: the tier is above `gate.tier_max`, or the grade"
            " is below `gate.grade_min`.",
            "have a person read these lines; 'custody blame -v' shows the evidence",
        ),
        ReasonCode.ATTR_SHARE: ReasonInfo(
            "Agents wrote more of the added lines than `gate.agent_share_max` allows. A line that is partly an agent's"
            " counts whole.",
            READ_IT,
        ),
        ReasonCode.TRUST_UNKNOWN: ReasonInfo(
            "Agents wrote lines of the change, but the agent is unknown, only evidence below `gate.assurance_min` names"
            " it, its record cannot be read, or a decision about the change was erased.",
            "have a person read the change; 'custody blame' shows who wrote which lines",
            tuple(code for code in _TRUST if code is not ReasonCode.TRUST_UNKNOWN),
        ),
        ReasonCode.TRUST_UNTRUSTED: ReasonInfo(
            "An agent that wrote lines of the change is UNTRUSTED: it merges nothing without review.",
            f"{READ_IT}; 'custody trust why' explains the agent's score",
        ),
        ReasonCode.TRUST_SAMPLES: ReasonInfo(
            "An agent has fewer than `trust.approve_samples_min` reviews. Reviews of another model than its current one"
            " count for less.",
            f"{READ_IT} and record the decision: 'custody trust record'",
        ),
        ReasonCode.TRUST_IDLE: ReasonInfo(
            "An agent reached its tier only because old rejections have decayed.", READ_IT
        ),
        ReasonCode.TRUST_SIZE: ReasonInfo(
            "The change has more lines than an agent's tier may merge without review.", READ_IT
        ),
        ReasonCode.TRUST_BUDGET: ReasonInfo(
            "The change exceeds the budget of lines merged without review in `trust.budget_hours` hours. The budget may"
            " be the agent's, its operator's or an area's.",
            f"{READ_IT}, or wait",
        ),
        ReasonCode.TRUST_PATH: ReasonInfo("The change touches a path listed in `trust.review_paths`.", READ_IT),
        ReasonCode.TRUST_KIND: ReasonInfo(
            "A file of the change cannot be judged by its lines: it is binary, a link, a submodule or too large, or its"
            " mode changed.",
            READ_IT,
        ),
        ReasonCode.TRUST_REJECTED: ReasonInfo(
            "This change was already rejected or reverted.",
            "fix what was rejected, or override the decision",
        ),
        ReasonCode.TRUST_CLOCK: ReasonInfo(
            "The clock is behind the records or the change's own commits, so the used budget is unknown.",
            "set the clock; 'custody doctor' names records with a future time",
        ),
        ReasonCode.TRUST_CHANCE: ReasonInfo(
            "The acceptance probability of the change is too low for the policy's risk target.", READ_IT
        ),
        ReasonCode.TRUST_AUDIT: ReasonInfo(
            "The change would have passed, but was selected for an audit; a share of `trust.audit_share` is.",
            f"{READ_IT} and record the decision: 'custody trust record'",
        ),
        ReasonCode.DUPE_UNSEEN: ReasonInfo(
            "The change could not be checked for duplicates, though `gate.duplicates` requires it.",
            "run 'custody dupes index', or have a person search for duplicates",
            (ReasonCode.DUPE_SAME, ReasonCode.DUPE_LIKELY, ReasonCode.DUPE_COMPETING),
        ),
        ReasonCode.DUPE_SAME: ReasonInfo(
            "Another change, open or merged, has the same diff.",
            "keep one of them; 'custody dupes check' shows the evidence",
        ),
        ReasonCode.DUPE_LIKELY: ReasonInfo(
            "Another change is likely a duplicate of this one.",
            "compare both; 'custody dupes check' shows the evidence",
        ),
        ReasonCode.DUPE_COMPETING: ReasonInfo(
            "Another change has tests for the same behavior and implements it differently.",
            "choose one of them; 'custody dupes check' shows the evidence",
        ),
        ReasonCode.CITE_UNSEEN: ReasonInfo(
            "The citations could not be checked: a document, a message or the description is too large or damaged.",
            "have a person read it",
            tuple(code for code in _CITE if code is not ReasonCode.CITE_UNSEEN),
        ),
        ReasonCode.CITE_UNCITED: ReasonInfo(
            "A report (a document matched by `gate.reports`) cites nothing, or less than `cite.coverage_min` requires.",
            "add citations; 'custody cite audit' lists the sentences",
        ),
        ReasonCode.CITE_BROKEN: ReasonInfo(
            "The change adds broken citations: a marker without a source, a marker with the wrong number, or a source"
            " that is not a page. Citations that were broken before are not reported.",
            "fix them; 'custody cite audit' explains each",
        ),
        ReasonCode.CITE_UNREAD: ReasonInfo(
            "An agent cites a source that its session never opened, opened too late, or read only as a summary; or the"
            " source does not support the statement.",
            "have a person check these sources; 'custody cite audit' lists them",
        ),
        ReasonCode.CITE_MISSING: ReasonInfo(
            "An agent names a file, a symbol, an issue or a package that does not exist.",
            "have a person check these names; 'custody cite audit' lists them",
        ),
        ReasonCode.GRAPH_UNSEEN: ReasonInfo(
            "The calls before a change to a risky file could not be checked, though `gate.calls` requires it.",
            READ_IT,
            (ReasonCode.GRAPH_UNUSUAL,),
        ),
        ReasonCode.GRAPH_UNUSUAL: ReasonInfo(
            "An agent made unusual calls before it changed a file matched by `gate.risky_paths`.",
            "have a person read the session; 'custody graph show SESSION' shows its calls",
        ),
        ReasonCode.TEST_NONE: ReasonInfo(
            "No test run is recorded for code that an agent wrote, or nothing shows that one passed after the last"
            " edit. Runs below `gate.assurance_min` count as missing.",
            "run the tests in the agent's session, or have a person run them; 'custody runs' lists the recorded runs",
            (ReasonCode.TEST_STALE, ReasonCode.TEST_FAILED),
        ),
        ReasonCode.TEST_STALE: ReasonInfo(
            "Code that an agent wrote was edited after the last passing test run.",
            "run the tests again; 'custody runs' lists the recorded runs",
        ),
        ReasonCode.TEST_FAILED: ReasonInfo(
            "The last recorded test run for code that an agent wrote failed.",
            "fix what fails and run the tests again; 'custody runs' lists the recorded runs",
        ),
        ReasonCode.STATEMENT_UNBACKED: ReasonInfo(
            "The description or a commit message says something that no record backs: tests pass, a linter ran, tests"
            " were added. Runs below `gate.assurance_min` count as missing.",
            "run it in the agent's session, or correct the text; 'custody runs' lists the recorded runs",
            (ReasonCode.STATEMENT_CONTRADICTED,),
        ),
        ReasonCode.STATEMENT_CONTRADICTED: ReasonInfo(
            "The description or a commit message says something that records or the diff contradict: the last run"
            " failed, or code changed where only documents should have.",
            "correct the text or the change; 'custody runs' lists the recorded runs",
        ),
        ReasonCode.INTEG_UNSEEN: ReasonInfo(
            "The store exists but cannot be read, so the evidence about the change is lost.",
            "run 'custody doctor'; 'custody import' restores a copy",
            (*_ANSWERS, ReasonCode.INTEG_DAMAGE),
            VerdictLevel.BLOCK,
        ),
        ReasonCode.INTEG_DAMAGE: ReasonInfo(
            "The store was changed after recording: records were edited, lost or inserted.",
            "run 'custody verify'; 'custody import' restores a copy",
            _ANSWERS,
            VerdictLevel.BLOCK,
        ),
        ReasonCode.REVIEW_UNREAD: ReasonInfo(
            "`gate.reads` is on, and no second person has read some hunks of the change. Only marks with at least"
            " `gate.assurance_min` count, and never those of an author, an operator or an agent of the change.",
            "have a person who did not write the change read it; 'custody read BASE..HEAD' lists its hunks",
        ),
        ReasonCode.POLICY_CHANGED: ReasonInfo(
            "The change edits rules, or a file that decides what may merge: `custody.toml` or a CI workflow. It is"
            " judged by the rules of its base, and never approved without review.",
            "have a person who is responsible for the rules read it",
        ),
    }
)


def join_reason_parts(parts: Sequence[str], shown_max: int) -> str:
    """Join the first ``shown_max`` parts, and say how many more there are.

    >>> join_reason_parts(["a", "b", "c"], 2)
    'a; b; and 1 more'
    """
    rest = len(parts) - shown_max
    return "; ".join([*parts[:shown_max], *([f"and {rest} more"] if rest > 0 else [])])


class ChangeSpot(Struct, frozen=True):
    """Lines of a file of the change; None for the file as a whole."""

    path: str
    lines: Lines | None = None


class Reason(Struct, frozen=True):
    """A reason against a change: its code and level, a sentence, what to do, and the places concerned, if any."""

    code: ReasonCode
    level: VerdictLevel
    sentence: str
    remedy: str
    spots: tuple[ChangeSpot, ...] = ()


class AddedRange(Struct, frozen=True):
    """Added lines with the same author; ``tier`` and ``grade`` rate the evidence, None where unknown.

    ``author`` is the agent that wrote them, wholly or in part; None if unknown or not an agent. ``assurance`` says who
    vouches for the author; None counts as self-reported.
    """

    lines: Lines
    whose: LineOwner
    tier: int | None = None
    grade: Grade | None = None
    author: ChangeAuthor | None = None
    assurance: Assurance | None = None

    @property
    def rated(self) -> Assurance:
        """Return how far the author can be believed."""
        return self.assurance or Assurance.SELF_REPORTED

    @property
    def certainty(self) -> str:
        """Return how certain the author is, in the word that blame shows."""
        return format_certainty(self.tier, self.grade, is_person=self.whose is LineOwner.PERSON)


class MissingEvidence(Struct, frozen=True):
    """Evidence that could not be gathered: why, and what to do."""

    why: str
    remedy: str


class FileAdditions(Struct, frozen=True):
    """A file that the change adds lines to, and who wrote these lines."""

    path: str
    authorship: tuple[AddedRange, ...] | MissingEvidence


class RecordState(Struct, frozen=True):
    """The state of the store: gaps in the recording, and damage found."""

    gaps: tuple[RecordingGap, ...] = ()
    damage: tuple[str, ...] = ()


class TrustAnswer(Struct, frozen=True):
    """Whether an agent's record allows the change to merge without review, and how far that record can be believed."""

    author: ChangeAuthor
    approval: Approval
    assurance: Assurance = Assurance.SELF_REPORTED


class SimilarChange(Struct, frozen=True):
    """Another change that is similar to this one: its display name and head, the verdict on the two, and why.

    ``spots`` are the places that both share; without any, the change as a whole is meant.
    """

    name: str
    verdict: DuplicateVerdict
    category: Category
    why: str
    spots: tuple[ChangeSpot, ...] = ()
    head: str = ""

    @property
    def code(self) -> ReasonCode:
        """Return the code of the reason that this change gives."""
        if self.verdict is DuplicateVerdict.COMPETING:
            return ReasonCode.DUPE_COMPETING
        return ReasonCode.DUPE_SAME if self.category is Category.SAME_CHANGE else ReasonCode.DUPE_LIKELY


class ChangeText(Struct, frozen=True):
    """A text of the change (a document, a message, the description), and the findings about its citations."""

    name: str
    findings: tuple[Finding, ...] | MissingEvidence
    is_file: bool = True


class CallsBeforeEdit(Struct, frozen=True):
    """The calls of an agent before it changed a risky file; ``chance`` is the geometric mean of their probabilities."""

    path: str
    session: str
    chance: float
    calls: tuple[str, ...]


class TestedFile(Struct, frozen=True):
    """A code file with lines of agents, and whether it was tested; ``assurance`` rates the run that this rests on."""

    __test__ = False

    path: str
    lines: tuple[Lines, ...]
    evidence: TestEvidence
    assurance: Assurance = Assurance.SELF_REPORTED


class ChangeStatement(Struct, frozen=True):
    """A statement in the ``source``, what records say about it, and how far the run behind that can be believed."""

    source: str
    compared: ComparedStatement
    record: str
    assurance: Assurance | None = None


class ReadState(Struct, frozen=True):
    """The hunks of a change that no second person has read, and the lowest assurance of the marks of the others."""

    unread: tuple[ChangeSpot, ...]
    hunks: int
    assurance: Assurance | None = None


class GateEvidence(Struct, frozen=True):
    """All evidence that the checks use.

    A change without ``files`` adds nothing. ``period`` is None where its time is unknown, ``recorded`` where nothing
    has been recorded. ``trust`` has an answer for every agent that wrote added lines. ``duplicates`` and ``calls`` are
    None if their check is off; ``texts``, those that cite or should, are then empty. ``tests`` are empty if
    their check is off. ``policy`` lists edited rules,
    ``guarded`` the edited files that decide what may merge. ``vouchers`` say for each
    changed file whether recorded edits made it what it is. ``rejected_by`` says who rejected a change without lines of
    agents.
    """

    files: tuple[FileAdditions, ...]
    period: ChangePeriod | None
    recorded: RecordState | MissingEvidence | None
    trust: tuple[TrustAnswer, ...] | MissingEvidence = ()
    duplicates: tuple[SimilarChange, ...] | MissingEvidence | None = None
    texts: tuple[ChangeText, ...] = ()
    calls: tuple[CallsBeforeEdit, ...] | MissingEvidence | None = None
    tests: tuple[TestedFile, ...] = ()
    policy: tuple[str, ...] = ()
    guarded: tuple[str, ...] = ()
    vouchers: tuple[FileVoucher, ...] = ()
    rejected_by: str | None = None
    statements: tuple[ChangeStatement, ...] = ()
    """What the texts of the change say, compared with records; empty if the check is off."""
    reads: ReadState | MissingEvidence | None = None
    """Which hunks a second person has read; None if the check is off."""

    @property
    def assurance(self) -> Assurance:
        """Return the lowest assurance of the evidence that speaks for the change; for unknown authors, self-reported.

        A change without files rests on nothing that was reported.
        """
        if any(isinstance(file.authorship, MissingEvidence) for file in self.files):
            return Assurance.SELF_REPORTED
        trust = () if isinstance(self.trust, MissingEvidence) else self.trust
        favorable = [added.rated for _, added in self.ranges]
        favorable += [answer.assurance for answer in trust if answer.approval]
        favorable += [voucher.assurance for voucher in self.vouchers]
        favorable += [file.assurance for file in self.tests if file.evidence.state is TestState.AFTER_EDIT]
        favorable += [
            each.assurance
            for each in self.statements
            if each.compared.state is StatementState.BACKED and each.assurance is not None
        ]
        if isinstance(self.reads, ReadState) and self.reads.assurance is not None:
            favorable.append(self.reads.assurance)
        return find_lowest_assurance(favorable) or Assurance.WITNESSED

    @property
    def ranges(self) -> list[tuple[str, AddedRange]]:
        """Return the added lines of every readable file, each range with the path of its file."""
        return [
            (file.path, added)
            for file in self.files
            if not isinstance(file.authorship, MissingEvidence)
            for added in file.authorship
        ]


class GateVerdict(Struct, frozen=True):
    """The level of the strictest reason, and all reasons, the strictest first."""

    level: VerdictLevel
    reasons: tuple[Reason, ...]
