"""The first half of the story: recording, and questions about the records."""

from custody.demo.changes import AGAIN, BACKPORT, RELEASE, REPORT, REWRITE, SECRET, SampleHistory
from custody.demo.step import Command, StoryStep

RECORDING = (
    StoryStep(
        "Set up",
        "A small repository: Ana started it, and Claude Code wrote tax.py before custody was installed.",
        (
            Command(
                "custody init --agent claude-code",
                about="From now on, custody records Claude Code's work here live.",
                says=("Set up recording for Claude Code", "10 events", "post-commit"),
                lines=3,
            ),
            Command(
                "custody import claude-code",
                about="Import its earlier session from disk, so that older code has evidence too.",
                says=("Imported 1 session from 1 file (",),
            ),
        ),
        SampleHistory.create_past,
    ),
    StoryStep(
        "Two agents and a person work",
        "Claude Code runs its hook at every step. patchbot, an agent that custody does not know, sends generic events."
        " The code host sends last month's reviews the same way. Ana types by hand. In the end there are six proposed"
        " changes, each on a branch.",
        (
            Command(
                """echo '{"custody":1,"kind":"prompt","session":"s9","text":"hi"}' | custody record --agent patchbot""",
                about="One such event. It prints nothing, because agents pass a hook's output to the model.",
            ),
            Command(
                "custody log",
                about="List the sessions:",
                says=(
                    "claude-code  read prices as",
                    "patchbot     hi ",
                    " sessions. hint: custody log ",
                ),
                lines=8,
            ),
            Command(
                "custody search read prices",
                about="Search them by words of prompts, commands, files and commits:",
                says=("read prices as people type them", "claude-code", "found among"),
            ),
            Command(
                "custody log 7d5a1c2e --tree",
                about="Show one session. The token in the prompt was removed before it was stored.",
                says=("> read prices as people type them", "[redacted:", "Write  src/till/prices.py"),
                never=(SECRET,),
                only=(":", "changed"),
            ),
            Command(
                "custody records -n 3",
                about="Sessions are built from a chain of records, each linked to the one before.",
                says=("hook:claude-code:c0ffee00",),
            ),
            Command(
                "custody show 20",
                about="Show one record:",
                says=('"prompt": "read prices',),
                never=(SECRET,),
                only=('"at"', '"agent"', '"prompt"'),
            ),
        ),
        SampleHistory.create_present,
    ),
)

QUESTIONS = (
    StoryStep(
        "Who wrote this line, and why?",
        "A: agent, P: person, M: both, ?: unknown.",
        (
            Command(
                "custody blame src/till/prices.py -L 8,10",
                about="Claude Code wrote these lines, recorded live:",
                says=("A claude-code certain", "  8  def parse_price", "3 agents (claude-code 3)"),
            ),
            Command(
                "custody blame src/till/tax.py -L 8,12",
                about="Claude Code again. The older lines come from an imported transcript, so they are less certain:",
                says=("A claude-code likely", "  8  def with_tax", "A claude-code certain", " 10      if rate < 0"),
            ),
            Command(
                "custody blame src/till/basket.py -L 15,16",
                about="Ana wrote these. Her typing was not recorded, so the author is unknown:",
                says=("2 unknown",),
            ),
            Command(
                "custody why src/till/prices.py:10",
                about="Trace one line back to its prompt:",
                says=(
                    "Claude Code wrote this line on 2026-03-03 for this prompt:",
                    "“read prices",
                    "read        src/till/basket.py",
                    "wrote       Write at 2026-03-03 09:10",
                    "Certain: recorded live",
                ),
                lines=16,
            ),
            Command(
                "custody stats",
                about="How much of the repository did agents write?",
                says=("agents wrote at least", "so at most", "claude-code"),
                lines=8,
            ),
            Command(
                "custody author src/till/basket.py --actor ana",
                about="Ana says which file she wrote by hand. That explains lines, and never speaks for a change:",
                says=("ana wrote src/till/basket.py:", "self-reported"),
            ),
            Command(
                "custody trailer 5424ca8",
                about="Print the trailers that disclose the agents of a commit, as far as records show them:",
                says=("Assisted-by: claude-code",),
            ),
            Command(
                "custody undo f1f1f1f1",
                about="Take one session's work back: a patch for 'git apply'. Lines that others changed since stay.",
                says=("-        raise ValueError(f", "would undo: 2 lines removed and 0 restored in 1 file"),
            ),
        ),
    ),
    StoryStep(
        "Is this change a duplicate?",
        "Branches and merged commits are indexed once. Then a change is compared with all of them.",
        (
            Command("custody dupes index", says=("Indexed ", " already indexed")),
            Command(
                f"custody dupes check main..{AGAIN} -n 1",
                about="(1) patchbot adds what Ana already added:",
                status=1,
                says=("! LIKELY DUPLICATE", "'Add up a basket' (", "status    already on main"),
                lines=7,
            ),
            Command(
                f"custody dupes check main..{REWRITE} -n 1",
                about="(2) patchbot solves what Claude Code already solved, with other code; the tests show it:",
                says=("! LIKELY COMPETING", "'Read prices as people type them' (", "same      10 lines"),
                lines=6,
            ),
            Command(
                f"custody dupes check {RELEASE}..{BACKPORT} -n 1",
                about="(3) Ana backports a fix to the release, so it is no duplicate:",
                says=("backport of: ", "'Refuse a negative tax rate'"),
                lines=7,
            ),
            Command(
                "custody dupes cluster --all",
                about="Which changes should not all be merged, and which one to keep?",
                says=("keep", "2 clusters"),
                only=("(2026-", "among"),
            ),
        ),
    ),
    StoryStep(
        "How far can we trust an agent?",
        "Reviews become a score, and the score a tier: how much may merge without review.",
        (
            Command("custody trust list", says=(" high ", " low ")),
            Command(
                "custody trust record claude-code accepted main~2 --review-seconds 300 --actor ana",
                about="Ana reviews a change and accepts it:",
                says=("accepted", "(verified)"),
            ),
            Command(
                "custody trust show claude-code -n 2",
                about="Why this score?",
                says=("500 lines a day", "modified"),
            ),
        ),
    ),
    StoryStep(
        "Does a report cite its sources?",
        "custody checks the citations of a report, and knows which sources the session opened.",
        (
            Command(
                f"git show {REPORT}:docs/reports/rounding.md | custody cite audit -",
                about="(5) Claude Code's report has many figures and cites no source:",
                status=1,
                says=("CITE-NONE", "0 of 4 sentences"),
                lines=2,
            ),
            Command(
                "custody cite list",
                about="The sources that sessions opened, each with a permanent id:",
                says=("S1", "https://example.org/rounding"),
            ),
        ),
    ),
    StoryStep(
        "What do agents call, and in what order?",
        "The graph is learned from the recorded sessions.",
        (
            Command("custody graph show c0ffee00", about="One session as a tree:", says=("Edit ×3",)),
            Command(
                "custody graph next c0ffee00",
                about="Which call is likely next?",
                says=("after Edit .py",),
                lines=3,
            ),
        ),
    ),
    StoryStep(
        "Open the pages",
        "The same results as pages: 'custody serve' shows them live, 'custody report' writes them as files.",
        (
            Command(
                "custody report --html ../pages",
                about="The files need no server and no network:",
                says=("pages to ../pages", "open ../pages/index.html"),
            ),
        ),
    ),
)
