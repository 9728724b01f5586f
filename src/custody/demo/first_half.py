"""The first half of the story: what is recorded, and what can be asked about it."""

from custody.demo.changes import AGAIN, BACKPORT, RELEASE, REPORT, REWRITE, SECRET, SampleHistory
from custody.demo.step import Command, StoryStep

RECORDED = (
    StoryStep(
        "Set up",
        "A small repository: Ana began it, and Claude Code wrote its tax.py before anybody was watching.",
        (
            Command(
                "custody init --agent claude-code",
                about="From now on Claude Code's work here is recorded as it happens.",
                says=("10 events", "post-commit"),
                lines=2,
            ),
            Command(
                "custody import claude-code",
                about="What it left on disk of its earlier session is brought in, so that old code has answers too.",
                says=("1 session(s), 1 call(s), 1 edit(s)",),
            ),
        ),
        SampleHistory.before,
    ),
    StoryStep(
        "Two agents and a person work",
        "Claude Code runs its hook at every step. patchbot, which custody has never heard of, tells the same in generic"
        " events, and so does the code host of last month's reviews. Ana types by hand. In the end six changes are"
        " proposed, each on a branch.",
        (
            Command(
                """echo '{"custody":1,"kind":"prompt","session":"s9","text":"hi"}' | custody record --agent patchbot""",
                about="One such event; nothing is printed, since agents feed what a hook prints to the model.",
            ),
            Command(
                "custody log",
                about="Which sessions were there?",
                says=("claude-code   7d5a1c2e", "patchbot      rewrite", "patchbot      s9"),
                lines=8,
            ),
            Command(
                "custody log 7d5a1c2e --tree",
                about="What happened in one of them? The token in the prompt never reached the disk.",
                says=("> read prices as people type them", "[redacted:", "Write  src/till/prices.py"),
                never=(SECRET,),
                only=(":", "changed"),
            ),
            Command(
                "custody records -n 3",
                about="Underneath is a chain of records, each bound to the one before.",
                says=("hook:claude-code:c0ffee00",),
            ),
            Command(
                "custody show 20",
                about="What one record says, word for word:",
                says=('"prompt": "read prices',),
                never=(SECRET,),
                only=('"at"', '"agent"', '"prompt"'),
            ),
        ),
        SampleHistory.everything,
    ),
)

ASKED = (
    StoryStep(
        "Who wrote this line, and why?",
        "A is an agent's, m partly, P a person's whom a record names, . no evidence; 1 is provably certain, 6 a hint.",
        (
            Command(
                "custody blame src/till/prices.py -L 8,10",
                about="Claude Code's, seen by its hook:",
                says=("A1  8 def parse_price", "3 agent (claude-code)"),
            ),
            Command(
                "custody blame src/till/tax.py -L 8,12",
                about="As well, but the older lines are known from its own transcript only, so less surely:",
                says=("A4  8 def with_tax", "A1 10     if rate < 0"),
            ),
            Command(
                "custody blame src/till/basket.py -L 15,16",
                about="Ana's. Nobody recorded her typing, so nothing is claimed:",
                says=("2 none",),
            ),
            Command(
                "custody why src/till/prices.py:10",
                about="One line's whole path, back to what was asked:",
                says=("provably certain", "call Write", "> read prices", "basket.py  verbatim", "nothing is missing"),
                lines=14,
            ),
            Command(
                "custody stats",
                about="How much of the repository is agents'?",
                says=("agents' share", "claude-code"),
                lines=5,
            ),
        ),
    ),
    StoryStep(
        "Is this change already there?",
        "Branches and landed commits are indexed once; then a change is compared with all of them.",
        (
            Command("custody dupes index", says=("change(s) indexed",)),
            Command(
                f"custody dupes check main..{AGAIN} -n 1",
                about="(1) patchbot adds what Ana has added already:",
                status=1,
                says=("duplicate:", "'Add up a basket'", "landed", "SAME_CHANGE", "already on main"),
                lines=4,
            ),
            Command(
                f"custody dupes check main..{REWRITE} -n 1",
                about="(2) patchbot solves what Claude Code has solved, in other words; the tests give it away:",
                says=("competing:", "COMPETING_IMPLEMENTATION", "'Read prices as people type them'"),
                lines=3,
            ),
            Command(
                f"custody dupes check {RELEASE}..{BACKPORT} -n 1",
                about="(3) Ana brings a fix to the release: the same, and on purpose:",
                status=1,
                says=("'Refuse a negative tax rate'", "backport of"),
                lines=4,
            ),
            Command(
                "custody dupes cluster --all",
                about="Which changes should not all land, and which one to keep?",
                says=("keep", "3 cluster(s)"),
                only=("(2026-", "among"),
            ),
        ),
    ),
    StoryStep(
        "What has an agent earned?",
        "People's decisions become a score, and a score a tier: how much may land without a person looking.",
        (
            Command("custody trust list", says=(" HIGH ", " LOW ")),
            Command(
                "custody trust record claude-code accepted main~2 --review-seconds 300 --actor ana",
                about="Ana reads a change and accepts it:",
                says=("accepted", "VERIFIED"),
            ),
            Command(
                "custody trust show claude-code -n 2",
                about="Why is the score what it is?",
                says=("12 accepted", "modified"),
            ),
        ),
    ),
    StoryStep(
        "Does what it says rest on anything?",
        "The citations of a report are checked, and what the session really opened is known.",
        (
            Command(
                f"git show {REPORT}:docs/reports/rounding.md | custody cite audit -",
                about="(5) Claude Code's report is full of figures and names no source:",
                status=1,
                says=("CITE-NONE", "0 of 4 sentences"),
                lines=2,
            ),
            Command(
                "custody cite list",
                about="The sources that sessions opened; each has an id for good:",
                says=("S1", "https://example.org/rounding"),
            ),
        ),
    ),
    StoryStep(
        "What do agents call, inside what, in what order?",
        "Learnt from the recorded sessions, with the runs that show it.",
        (
            Command("custody graph show c0ffee00", about="One session as a tree:", says=("Edit ×3",)),
            Command(
                "custody graph next c0ffee00",
                about="What is likely to come next in it?",
                says=("after Edit .py",),
                lines=3,
            ),
        ),
    ),
    StoryStep(
        "Look at it",
        "All of this as pages, with the same answers: 'custody serve' shows them live, or they are written as files.",
        (
            Command(
                "custody report --html ../pages",
                about="They need no server and no network:",
                says=("page(s) in ../pages", "open ../pages/index.html"),
            ),
        ),
    ),
)
