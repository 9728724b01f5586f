"""The nouns of the gate: evidence about a change, reasons by code, the verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from custody.attribution import Grade, LineOwner
from custody.cite import Finding
from custody.core.evidence import ChangePeriod
from custody.core.paths import Lines
from custody.core.record import RecordingGap
from custody.dupes import Category, DuplicateVerdict
from custody.trust import Approval, ChangeAuthor

# Every reason that a verdict can have, in one table; this file is the only one that says which may not be milder.


class VerdictLevel(Enum):
    """What a verdict, or one reason, asks for, from the mildest to the strictest."""

    APPROVE = "approve"
    REVIEW = "review"
    BLOCK = "block"

    @property
    def strictness(self) -> int:
        """Its place in the order, from 0."""
        return list(VerdictLevel).index(self)


class ReasonCode(Enum):
    """The name of a reason; the part before the hyphen is the check that gives it."""

    ATTR_UNSEEN = "ATTR-UNSEEN"
    ATTR_NONE = "ATTR-NONE"
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
    INTEG_UNSEEN = "INTEG-UNSEEN"
    INTEG_DAMAGE = "INTEG-DAMAGE"
    POLICY_CHANGED = "POLICY-CHANGED"


@dataclass(frozen=True, slots=True)
class ReasonInfo:
    """What a reason means, what to do about it, the reasons than which it may never be milder, and its usual level.

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
)
"""What is said only of lines that are known to be an agent's."""
_CITE = tuple(code for code in ReasonCode if code.value.startswith("CITE-"))
_ANSWERS = tuple(code for code in ReasonCode if code.value.partition("-")[0] not in ("INTEG", "POLICY"))
READ_IT = "have a person read the change"

CODES: Mapping[ReasonCode, ReasonInfo] = MappingProxyType(
    {
        ReasonCode.ATTR_UNSEEN: ReasonInfo(
            "Who wrote the added lines could not be looked up, or not everywhere: nothing was ever recorded here,"
            " something could not be recorded while the change was made, the store cannot be read, or a file has no"
            " lines that can be read.",
            "have a person read the change; 'custody doctor' says what is missing",
            (ReasonCode.ATTR_NONE, ReasonCode.ATTR_WEAK, ReasonCode.ATTR_SHARE, *_BY_AGENTS),
        ),
        ReasonCode.ATTR_NONE: ReasonInfo(
            "It was looked up, and for some added lines nothing shows who wrote them. That never means that a person"
            " did.",
            "import the transcripts of the sessions that worked on it, or have a person read these lines",
            (ReasonCode.ATTR_WEAK, ReasonCode.ATTR_SHARE, *_BY_AGENTS),
        ),
        ReasonCode.ATTR_WEAK: ReasonInfo(
            "It is known who wrote the lines, but not well enough: the tier is above `gate.tier_max`, or the grade is"
            " below `gate.grade_min`.",
            "have a person read these lines; 'custody blame -v' shows what the answer rests on",
        ),
        ReasonCode.ATTR_SHARE: ReasonInfo(
            "Agents wrote more of the added lines than `gate.agent_share_max` allows. A line of which an agent wrote a"
            " part counts whole.",
            READ_IT,
        ),
        ReasonCode.TRUST_UNKNOWN: ReasonInfo(
            "Agents wrote lines of the change, and it cannot be told whose record to ask, no record could be read, or a"
            " decision that may have spoken against it was erased.",
            "have a person read the change; 'custody blame' says whose lines they are",
            tuple(code for code in _TRUST if code is not ReasonCode.TRUST_UNKNOWN),
        ),
        ReasonCode.TRUST_UNTRUSTED: ReasonInfo(
            "An agent that wrote lines of the change is UNTRUSTED: it lands nothing without review.",
            f"{READ_IT}; 'custody trust why' says how the agent came to its score",
        ),
        ReasonCode.TRUST_SAMPLES: ReasonInfo(
            "Fewer than `trust.approve_samples_min` decisions were made about an agent; those about another model than"
            " the one that it runs count for less.",
            f"{READ_IT} and record what they decide: 'custody trust record'",
        ),
        ReasonCode.TRUST_IDLE: ReasonInfo("An agent reached its tier only by being idle.", READ_IT),
        ReasonCode.TRUST_SIZE: ReasonInfo(
            "The change has more lines than an agent's tier may land without review.", READ_IT
        ),
        ReasonCode.TRUST_BUDGET: ReasonInfo(
            "With what landed without review in the last `trust.budget_hours` hours, the change is more than the budget"
            " of an agent, of whoever runs it, or of an area.",
            f"{READ_IT}, or wait",
        ),
        ReasonCode.TRUST_PATH: ReasonInfo("The change touches a path that `trust.review_paths` names.", READ_IT),
        ReasonCode.TRUST_KIND: ReasonInfo(
            "A file of the change cannot be judged by its lines: it is binary, a link, a submodule or too large, or its"
            " mode is another one.",
            READ_IT,
        ),
        ReasonCode.TRUST_REJECTED: ReasonInfo(
            "A person rejected this very change, or it was taken back.",
            "change what was rejected, or have it overridden",
        ),
        ReasonCode.TRUST_CLOCK: ReasonInfo(
            "The clock is behind what was recorded, or behind the change's own commits: how much of a budget is used"
            " cannot be told.",
            "set the clock; 'custody doctor' names records of the future",
        ),
        ReasonCode.TRUST_CHANCE: ReasonInfo(
            "The chance that the change is accepted is too low for the policy's risk target.", READ_IT
        ),
        ReasonCode.TRUST_AUDIT: ReasonInfo(
            "The change would have passed, and was drawn for a person to look at; `trust.audit_share` of all are.",
            f"{READ_IT} and record what they decide: 'custody trust record'",
        ),
        ReasonCode.DUPE_UNSEEN: ReasonInfo(
            "Whether the change is there already could not be looked up, though `gate.duplicates` asks for it.",
            "run 'custody dupes index', or have a person look for it",
            (ReasonCode.DUPE_SAME, ReasonCode.DUPE_LIKELY, ReasonCode.DUPE_COMPETING),
        ),
        ReasonCode.DUPE_SAME: ReasonInfo(
            "Another change has the same diff: it is open beside this one, or has landed already.",
            "keep one of them; 'custody dupes check' shows the evidence",
        ),
        ReasonCode.DUPE_LIKELY: ReasonInfo(
            "Another change is so much like this one that people would call it a duplicate.",
            "compare both; 'custody dupes check' shows the evidence",
        ),
        ReasonCode.DUPE_COMPETING: ReasonInfo(
            "Another change is tested for the same and does it differently.",
            "choose one of them; 'custody dupes check' shows the evidence",
        ),
        ReasonCode.CITE_UNSEEN: ReasonInfo(
            "What the change says could not be read: a document, a message or the description is too large or damaged.",
            "have a person read it",
            tuple(code for code in _CITE if code is not ReasonCode.CITE_UNSEEN),
        ),
        ReasonCode.CITE_UNCITED: ReasonInfo(
            "A report (a document that `gate.reports` names) cites nothing, or less than `cite.coverage_min` asks for.",
            "cite what it rests on; 'custody cite audit' names the sentences",
        ),
        ReasonCode.CITE_BROKEN: ReasonInfo(
            "The change brings citations that do not hold: a marker without a source, one that leads elsewhere than its"
            " number says, a source that is no page. What was so before the change is not told.",
            "mend them; 'custody cite audit' says what each means and what to do",
        ),
        ReasonCode.CITE_UNREAD: ReasonInfo(
            "An agent cites what its session never opened, or opened only later, or what does not speak of the"
            " statement as far as it was read, or quotes what it read only a summary of.",
            "have a person check these sources; 'custody cite audit' names them",
        ),
        ReasonCode.CITE_MISSING: ReasonInfo(
            "An agent names a file, a symbol, an issue or a package that is not there.",
            "have a person check these names; 'custody cite audit' names them",
        ),
        ReasonCode.GRAPH_UNSEEN: ReasonInfo(
            "What an agent called before it changed a risky file could not be looked up, though `gate.calls` asks for"
            " it.",
            READ_IT,
            (ReasonCode.GRAPH_UNUSUAL,),
        ),
        ReasonCode.GRAPH_UNUSUAL: ReasonInfo(
            "Before an agent changed a file that `gate.risky_paths` names, it made calls that hardly ever come like"
            " this.",
            "have a person look at the session; 'custody graph show SESSION' shows its calls",
        ),
        ReasonCode.INTEG_UNSEEN: ReasonInfo(
            "There is a store, and it cannot be read: what the change was made with is not known any more.",
            "run 'custody doctor'; 'custody import' brings a copy back",
            (*_ANSWERS, ReasonCode.INTEG_DAMAGE),
            VerdictLevel.BLOCK,
        ),
        ReasonCode.INTEG_DAMAGE: ReasonInfo(
            "What was recorded is not as it was written: records were changed, lost, or put in between.",
            "run 'custody verify'; 'custody import' brings a copy back",
            _ANSWERS,
            VerdictLevel.BLOCK,
        ),
        ReasonCode.POLICY_CHANGED: ReasonInfo(
            "The change sets other rules than those by which it is judged, which are the base's.",
            "have a person who may decide about the rules read it",
        ),
    }
)


def join_first(parts: Sequence[str], shown_max: int) -> str:
    """The first ``shown_max`` parts of a sentence, and how many more there are.

    >>> join_first(["a", "b", "c"], 2)
    'a; b; and 1 more'
    """
    rest = len(parts) - shown_max
    return "; ".join([*parts[:shown_max], *([f"and {rest} more"] if rest > 0 else [])])


@dataclass(frozen=True, slots=True)
class ChangeSpot:
    """Lines of a file of the change; None for the file as a whole."""

    path: str
    lines: Lines | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing to be said about a change, what to do about it, and the places that it is about, if any."""

    code: ReasonCode
    level: VerdictLevel
    sentence: str
    remedy: str
    spots: tuple[ChangeSpot, ...] = ()


@dataclass(frozen=True, slots=True)
class AddedRange:
    """Added lines with the same answer; ``tier`` and ``grade`` say how good it is, None where that is not known.

    ``author`` is the agent that wrote them, wholly or in part; None where that is not known, or it was none.
    """

    lines: Lines
    whose: LineOwner
    tier: int | None = None
    grade: Grade | None = None
    author: ChangeAuthor | None = None


@dataclass(frozen=True, slots=True)
class MissingEvidence:
    """That something was not looked at: why, and what to do."""

    why: str
    remedy: str


@dataclass(frozen=True, slots=True)
class FileAdditions:
    """A file that the change adds lines to, and what is known of these lines."""

    path: str
    found: tuple[AddedRange, ...] | MissingEvidence


@dataclass(frozen=True, slots=True)
class RecordState:
    """The state of what answers rest on: the gaps, and everything that is not as it was stored."""

    gaps: tuple[RecordingGap, ...] = ()
    damage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TrustAnswer:
    """Whether an agent's record lets the change land without review."""

    author: ChangeAuthor
    approval: Approval


@dataclass(frozen=True, slots=True)
class SimilarChange:
    """Another change that this one is like: its name for people, and what is said about the two."""

    name: str
    says: DuplicateVerdict
    category: Category
    why: str


@dataclass(frozen=True, slots=True)
class ChangeText:
    """A text that the change brings (a document, a message, its description), and what its citations lack."""

    name: str
    lacks: tuple[Finding, ...] | MissingEvidence
    is_file: bool = True


@dataclass(frozen=True, slots=True)
class CallsBeforeEdit:
    """What an agent called before it changed a risky file: how usual that is (a geometric mean), and the calls."""

    path: str
    session: str
    chance: float
    calls: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GateEvidence:
    """Everything that checks may look at: the files that the change adds to, its time if that can be told, the store.

    A change without ``files`` adds nothing. ``recorded`` is None where nothing was ever recorded. ``trust`` has an
    answer for every agent that wrote added lines. ``twins`` are changes that should not land beside this one; None when
    they were not to be looked for. ``texts`` are those that cite, or should; empty too when nobody was to look.
    ``befores`` are what agents called before they changed risky files; None when nobody was to look. ``policy`` says
    which rules the change sets anew.
    """

    files: tuple[FileAdditions, ...]
    period: ChangePeriod | None
    recorded: RecordState | MissingEvidence | None
    trust: tuple[TrustAnswer, ...] | MissingEvidence = ()
    twins: tuple[SimilarChange, ...] | MissingEvidence | None = None
    texts: tuple[ChangeText, ...] = ()
    befores: tuple[CallsBeforeEdit, ...] | MissingEvidence | None = None
    policy: tuple[str, ...] = ()

    @property
    def ranges(self) -> list[tuple[str, AddedRange]]:
        """The added lines of every file that could be read, each range with the path of its file."""
        return [
            (file.path, added)
            for file in self.files
            if not isinstance(file.found, MissingEvidence)
            for added in file.found
        ]


@dataclass(frozen=True, slots=True)
class GateVerdict:
    """The level of the strictest reason, and all reasons, the strictest first."""

    level: VerdictLevel
    reasons: tuple[Reason, ...]
