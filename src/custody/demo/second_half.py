"""The second half of the story: the verdict on six changes, and how the evidence is kept."""

from custody.demo import sandbox as damage
from custody.demo.changes import AGAIN, BACKPORT, CLEAN, FORGED, RELEASE, REPORT, REWRITE, SampleHistory
from custody.demo.step import Command, Happens, StoryStep

COPY = "../copy"
VERDICT = ("approve", "review", "block", "added line(s):")
"""What is shown of a verdict; the rest is counted."""


def _damaged(sql: str) -> Happens:
    def happens(history: SampleHistory) -> None:
        damage.damaged_copy(history.place.repository, history.place.folder / "copy", sql)

    return happens


JUDGED = (
    StoryStep(
        "May it land? The gate on all six",
        "All of it in one verdict: approve, review (a person has to read it) or block. Each reason has a code.",
        (
            Command(
                "custody import ../traces.jsonl",
                about="Mallory sends a trace in, typed by hand: 'Claude Code wrote my change'. And again, re-dated.",
                says=("2 trace(s)",),
            ),
            Command(
                f"custody gate main..{AGAIN}",
                about="(1) The duplicate:",
                says=("review\n", "DUPE-SAME", "TRUST-SAMPLES"),
                only=VERDICT,
            ),
            Command(
                f"custody gate main..{REWRITE}",
                about="(2) The rewrite:",
                says=("review\n", "DUPE-COMPETING", "TRUST-SIZE"),
                only=VERDICT,
            ),
            Command(
                f"custody gate {RELEASE}..{BACKPORT}",
                about="(3) The backport is no duplicate, and its lines are known from where they were written:",
                says=("approve\n", "2 agent"),
                never=("DUPE-", "ATTR-"),
                only=VERDICT,
            ),
            Command(
                f"custody gate main..{FORGED}",
                about="(4) The forged trace: a claim is no record, and a good name that is borrowed does not help:",
                says=("review\n", "ATTR-WEAK"),
                never=("INTEG-",),
                only=VERDICT,
            ),
            Command(
                f"custody gate main..{REPORT}",
                about="(5) The report without sources:",
                says=("review\n", "CITE-UNCITED"),
                never=("ATTR-", "DUPE-", "TRUST-"),
                only=VERDICT,
            ),
            Command(
                f"custody gate main..{CLEAN}",
                about="(6) The clean one: recorded, new, small, by an agent that has earned it:",
                says=("approve\n", "10 agent"),
                never=("(review)", "(block)"),
                only=VERDICT,
            ),
            Command(
                f"custody gate main..{CLEAN} --format statement --out ../verdict.json",
                about="The verdict as a statement that others can check (--sign-key signs it with an SSH key):",
                says=("approve\n",),
                lines=1,
            ),
            Command(
                f"custody trust record --outcome closed main..{AGAIN} --actor ana",
                about="Ana closes the duplicate, which counts for whoever wrote it:",
                says=("patchbot", "rejected"),
            ),
            Command(
                "custody verify --verdict ../verdict.json",
                about="More is recorded by now; worked out again from its own records, the verdict is the same:",
                says=("the verdict holds: approve", "not signed"),
            ),
            Command(
                "custody rules gate",
                about="By which rules? A repository can set its own; a change is judged by those of its base.",
                says=("gate.grade_min               recorded",),
                lines=3,
            ),
        ),
    ),
)

KEPT = (
    StoryStep(
        "Is the evidence as it was stored?",
        "Somebody changes a copy of the store with a database tool; each time verify names what was done.",
        (
            Command("custody verify", says=("all as stored",)),
            Command(
                f"custody -C {COPY} verify",
                about="A record is re-dated by ten days:",
                status=1,
                says=("CHAIN-LINK  record 22 ",),
                happens=_damaged(damage.REDATED),
            ),
            Command(
                f"custody -C {COPY} gate main..{CLEAN}",
                about="With such evidence even the clean change is blocked:",
                status=1,
                says=("block\n", "INTEG-DAMAGE"),
                only=VERDICT,
            ),
            Command(
                f"custody -C {COPY} verify",
                about="A record is deleted:",
                status=1,
                says=("CHAIN-GAP  record 30 ",),
                happens=_damaged(damage.DELETED),
            ),
            Command(
                f"custody -C {COPY} verify",
                about="The last ones are cut off:",
                status=1,
                says=("CHAIN-CUT  records 61 to ",),
                happens=_damaged(damage.CUT_OFF),
            ),
            Command(
                f"custody -C {COPY} verify",
                about="What an agent wrote is replaced:",
                status=1,
                says=("BODY-CHANGED",),
                happens=_damaged(damage.REPLACED),
            ),
        ),
    ),
    StoryStep(
        "Keep house",
        "Look after the store, take the evidence elsewhere, forget what must be forgotten, and go without a trace.",
        (
            Command(
                "custody doctor",
                about="Is all well? (The re-dated trace is noticed here too.)",
                says=("observed 2 times with different content", "recorded as it happens: Claude Code"),
                never=("ILL ",),
                only=("chains", "observations", "hook"),
            ),
            Command(
                "custody export -o ../evidence.jsonl",
                about="Everything in one file; importing it elsewhere gives the same chain:",
                says=("records of 1 chain(s)",),
            ),
            Command(
                "custody erase 20 --reason 'a name in a prompt' --who ana --yes",
                about="A record is made to forget what it says; that it was there stays provable:",
                says=("erased",),
            ),
            Command("custody verify", says=("all as stored", "1 erased")),
            Command(
                "custody uninstall",
                about="Settings and hooks are as they were before:",
                says=("settings.local.json", "post-commit"),
                lines=2,
            ),
            Command(
                "custody completion bash",
                about="And for those who stay: completion in the shell.",
                says=("_custody_completion",),
                lines=1,
            ),
        ),
    ),
)
