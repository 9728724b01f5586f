"""Every reason that a verdict can have, in one table; this file is the only one that says which may not be milder."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from custody.core.lines import Lines


class Level(Enum):
    """What a verdict, or one reason, asks for, from the mildest to the strictest."""

    APPROVE = "approve"
    REVIEW = "review"
    BLOCK = "block"

    @property
    def strictness(self) -> int:
        """Its place in the order, from 0."""
        return list(Level).index(self)


class Code(Enum):
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
class About:
    """What a reason means, what to do about it, the reasons than which it may never be milder, and its usual level.

    Lost evidence turns each of ``never_milder_than`` into this reason, and losing evidence must not help.
    """

    meaning: str
    remedy: str
    never_milder_than: tuple[Code, ...] = ()
    usual: Level = Level.REVIEW


_TRUST = tuple(code for code in Code if code.value.startswith("TRUST-"))
_BY_AGENTS = (*_TRUST, Code.CITE_UNREAD, Code.CITE_MISSING, Code.GRAPH_UNSEEN, Code.GRAPH_UNUSUAL)
"""What is said only of lines that are known to be an agent's."""
_CITE = tuple(code for code in Code if code.value.startswith("CITE-"))
_ANSWERS = tuple(code for code in Code if code.value.partition("-")[0] not in ("INTEG", "POLICY"))
READ_IT = "have a person read the change"

CODES: Mapping[Code, About] = MappingProxyType(
    {
        Code.ATTR_UNSEEN: About(
            "Who wrote the added lines could not be looked up, or not everywhere: nothing was ever recorded here,"
            " something could not be recorded while the change was made, the store cannot be read, or a file has no"
            " lines that can be read.",
            "have a person read the change; 'custody doctor' says what is missing",
            (Code.ATTR_NONE, Code.ATTR_WEAK, Code.ATTR_SHARE, *_BY_AGENTS),
        ),
        Code.ATTR_NONE: About(
            "It was looked up, and for some added lines nothing shows who wrote them. That never means that a person"
            " did.",
            "import the transcripts of the sessions that worked on it, or have a person read these lines",
            (Code.ATTR_WEAK, Code.ATTR_SHARE, *_BY_AGENTS),
        ),
        Code.ATTR_WEAK: About(
            "It is known who wrote the lines, but not well enough: the tier is above `gate.tier_max`, or the grade is"
            " below `gate.grade_min`.",
            "have a person read these lines; 'custody blame -v' shows what the answer rests on",
        ),
        Code.ATTR_SHARE: About(
            "Agents wrote more of the added lines than `gate.agent_share_max` allows. A line of which an agent wrote a"
            " part counts whole.",
            READ_IT,
        ),
        Code.TRUST_UNKNOWN: About(
            "Agents wrote lines of the change, and it cannot be told whose record to ask, no record could be read, or a"
            " decision that may have spoken against it was erased.",
            "have a person read the change; 'custody blame' says whose lines they are",
            tuple(code for code in _TRUST if code is not Code.TRUST_UNKNOWN),
        ),
        Code.TRUST_UNTRUSTED: About(
            "An agent that wrote lines of the change is UNTRUSTED: it lands nothing without review.",
            f"{READ_IT}; 'custody trust why' says how the agent came to its score",
        ),
        Code.TRUST_SAMPLES: About(
            "Fewer than `trust.approve_samples_min` decisions were made about an agent; those about another model than"
            " the one that it runs count for less.",
            f"{READ_IT} and record what they decide: 'custody trust record'",
        ),
        Code.TRUST_IDLE: About("An agent reached its tier only by being idle.", READ_IT),
        Code.TRUST_SIZE: About("The change has more lines than an agent's tier may land without review.", READ_IT),
        Code.TRUST_BUDGET: About(
            "With what landed without review in the last `trust.budget_hours` hours, the change is more than the budget"
            " of an agent, of whoever runs it, or of an area.",
            f"{READ_IT}, or wait",
        ),
        Code.TRUST_PATH: About("The change touches a path that `trust.review_paths` names.", READ_IT),
        Code.TRUST_KIND: About(
            "A file of the change cannot be judged by its lines: it is binary, a link, a submodule or too large, or its"
            " mode is another one.",
            READ_IT,
        ),
        Code.TRUST_REJECTED: About(
            "A person rejected this very change, or it was taken back.",
            "change what was rejected, or have it overridden",
        ),
        Code.TRUST_CLOCK: About(
            "The clock is behind what was recorded, or behind the change's own commits: how much of a budget is used"
            " cannot be told.",
            "set the clock; 'custody doctor' names records of the future",
        ),
        Code.TRUST_CHANCE: About(
            "The chance that the change is accepted is too low for the policy's risk target.", READ_IT
        ),
        Code.TRUST_AUDIT: About(
            "The change would have passed, and was drawn for a person to look at; `trust.audit_share` of all are.",
            f"{READ_IT} and record what they decide: 'custody trust record'",
        ),
        Code.DUPE_UNSEEN: About(
            "Whether the change is there already could not be looked up, though `gate.duplicates` asks for it.",
            "run 'custody dupes index', or have a person look for it",
            (Code.DUPE_SAME, Code.DUPE_LIKELY, Code.DUPE_COMPETING),
        ),
        Code.DUPE_SAME: About(
            "Another change has the same diff: it is open beside this one, or has landed already.",
            "keep one of them; 'custody dupes check' shows the evidence",
        ),
        Code.DUPE_LIKELY: About(
            "Another change is so much like this one that people would call it a duplicate.",
            "compare both; 'custody dupes check' shows the evidence",
        ),
        Code.DUPE_COMPETING: About(
            "Another change is tested for the same and does it differently.",
            "choose one of them; 'custody dupes check' shows the evidence",
        ),
        Code.CITE_UNSEEN: About(
            "What the change says could not be read: a document, a message or the description is too large or damaged.",
            "have a person read it",
            tuple(code for code in _CITE if code is not Code.CITE_UNSEEN),
        ),
        Code.CITE_UNCITED: About(
            "A report (a document that `gate.reports` names) cites nothing, or less than `cite.coverage_min` asks for.",
            "cite what it rests on; 'custody cite audit' names the sentences",
        ),
        Code.CITE_BROKEN: About(
            "The change brings citations that do not hold: a marker without a source, one that leads elsewhere than its"
            " number says, a source that is no page. What was so before the change is not told.",
            "mend them; 'custody cite audit' says what each means and what to do",
        ),
        Code.CITE_UNREAD: About(
            "An agent cites what its session never opened, or opened only later, or what does not speak of the"
            " statement as far as it was read, or quotes what it read only a summary of.",
            "have a person check these sources; 'custody cite audit' names them",
        ),
        Code.CITE_MISSING: About(
            "An agent names a file, a symbol, an issue or a package that is not there.",
            "have a person check these names; 'custody cite audit' names them",
        ),
        Code.GRAPH_UNSEEN: About(
            "What an agent called before it changed a risky file could not be looked up, though `gate.calls` asks for"
            " it.",
            READ_IT,
            (Code.GRAPH_UNUSUAL,),
        ),
        Code.GRAPH_UNUSUAL: About(
            "Before an agent changed a file that `gate.risky_paths` names, it made calls that hardly ever come like"
            " this.",
            "have a person look at the session; 'custody graph show SESSION' shows its calls",
        ),
        Code.INTEG_UNSEEN: About(
            "There is a store, and it cannot be read: what the change was made with is not known any more.",
            "run 'custody doctor'; 'custody import' brings a copy back",
            (*_ANSWERS, Code.INTEG_DAMAGE),
            Level.BLOCK,
        ),
        Code.INTEG_DAMAGE: About(
            "What was recorded is not as it was written: records were changed, lost, or put in between.",
            "run 'custody verify'; 'custody import' brings a copy back",
            _ANSWERS,
            Level.BLOCK,
        ),
        Code.POLICY_CHANGED: About(
            "The change sets other rules than those by which it is judged, which are the base's.",
            "have a person who may decide about the rules read it",
        ),
    }
)


@dataclass(frozen=True, slots=True)
class Spot:
    """Lines of a file of the change; None for the file as a whole."""

    path: str
    lines: Lines | None = None


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing to be said about a change, what to do about it, and the places that it is about, if any."""

    code: Code
    level: Level
    sentence: str
    remedy: str
    spots: tuple[Spot, ...] = ()
