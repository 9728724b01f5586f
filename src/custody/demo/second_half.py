"""The second half of the story: the verdicts on six changes, and the store."""

from custody.demo import sandbox as damage
from custody.demo.changes import AGAIN, BACKPORT, CLEAN, FORGED, RELEASE, REPORT, REWRITE, SNEAKY, SampleHistory
from custody.demo.sandbox import KEYGEN
from custody.demo.step import Command, Happens, StoryStep

COPY, CLONE = "../copy", "../clone"
VERDICT = ("CAN MERGE", "NEEDS REVIEW", "BLOCKED", "(review): ", "(block): ", " added line")
"""The lines that are shown of a verdict; the others are counted."""


def _damage_sample_copy(sql: str) -> Happens:
    def happens(history: SampleHistory) -> None:
        damage.make_damaged_sample(history.place.repository, history.place.folder / "copy", sql)

    return happens


def _make_signing_key(history: SampleHistory) -> None:
    history.place.make_key("ci")


def _clone_repository(history: SampleHistory) -> None:
    history.place.clone("clone")


VERDICTS = (
    StoryStep(
        "Can it merge? The gate on all six changes",
        "One verdict for each change: it can merge, needs review, or is blocked. Each reason has a code.",
        (
            Command(
                "custody import ../traces.jsonl",
                about="Mallory sends a forged trace: 'Claude Code wrote my change'. Then again with another date.",
                says=("Imported 2 traces",),
            ),
            Command(
                f"custody gate main..{AGAIN}",
                about="(1) The duplicate:",
                says=("! NEEDS REVIEW", "DUPE-SAME", "TRUST-SAMPLES"),
                only=VERDICT,
            ),
            Command(
                f"custody gate main..{REWRITE}",
                about="(2) The rewrite:",
                says=("! NEEDS REVIEW", "DUPE-COMPETING", "TRUST-SIZE"),
                only=VERDICT,
            ),
            Command(
                f"custody review main..{REWRITE}",
                about="What is there to read in it? The riskiest hunk first, each with its evidence:",
                says=("NEEDS REVIEW", "Read these first", "prompt"),
                lines=30,
            ),
            Command(
                f"custody read main..{REWRITE} --all --actor ana",
                about="Ana reads it, and marks each hunk. The marks stay with the text of the hunks:",
                says=("read",),
            ),
            Command(
                f"custody gate {RELEASE}..{BACKPORT}",
                about="(3) The backport is not a duplicate, and the authors of its lines are known:",
                says=("CAN MERGE", "2 agents"),
                never=("DUPE-", "ATTR-"),
                only=VERDICT,
            ),
            Command(
                f"custody gate main..{FORGED}",
                about="(4) The forged trace: an imported claim is weak evidence, whatever agent it names:",
                says=("! NEEDS REVIEW", "ATTR-WEAK"),
                never=("INTEG-",),
                only=VERDICT,
            ),
            Command(
                f"custody gate main..{REPORT}",
                about="(5) The report without sources:",
                says=("! NEEDS REVIEW", "CITE-UNCITED"),
                never=("ATTR-", "DUPE-", "TRUST-"),
                only=VERDICT,
            ),
            Command(
                f"custody gate main..{CLEAN}",
                about="(6) The clean one: recorded, new, small, by a trusted agent:",
                says=("CAN MERGE", "10 agents"),
                never=("(review)", "(block)"),
                only=VERDICT,
            ),
            Command(
                f"custody runs main..{CLEAN}",
                about="Its tests ran after the last edit:",
                says=("pytest -q", "passed"),
                never=("edited after it",),
            ),
            Command(
                f"custody trust record --outcome closed main..{AGAIN} --actor ana",
                about="Ana closes the duplicate, which counts against its author:",
                says=("patchbot", "rejected"),
            ),
            Command(
                f"custody gate main..{SNEAKY}",
                about="An attack: patchbot commits the rejected diff again, with another message and author:",
                says=("! NEEDS REVIEW", "TRUST-REJECTED"),
                only=("NEEDS REVIEW", "TRUST-REJECTED"),
                happens=SampleHistory.repeat_rejected_change,
            ),
            Command(
                "custody rules gate",
                about="Which rules apply? A repository can set its own; a change is checked by those of its base.",
                says=("gate.grade_min                      recorded",),
                lines=3,
            ),
        ),
    ),
    StoryStep(
        "Can others check a verdict?",
        "CI signs the verdict. With its public key anybody can check it, and judge again from a bundle of records.",
        (
            Command(
                f"custody gate main..{CLEAN} --format statement --sign-key ../ci --out ../verdict.json",
                about="Sign the verdict on the clean change with an SSH key:",
                says=("CAN MERGE",),
                lines=1,
                happens=_make_signing_key,
                needs=KEYGEN,
            ),
            Command(
                "custody export --verdict ../verdict.json -o ../verdict.bundle",
                about="Write only the records behind it:",
                says=("wrote ", " of 1 chain"),
                needs=KEYGEN,
            ),
            Command(
                f"custody -C {CLONE} verify --verdict ../verdict.json --key ../ci.pub --min-level approve"
                " --bundle ../verdict.bundle",
                about="A fresh clone has no records. It checks the signature, judges again, and gets the same bytes:",
                says=("OK: the verdict is valid: approve", "signed by key"),
                happens=_clone_repository,
                needs=KEYGEN,
            ),
            Command(
                f"custody -C {CLONE} verify --verdict ../verdict.json --key ../ci.pub --head main --signature-only",
                about="The same verdict, presented for another commit:",
                status=1,
                says=("FAILED", "head_differs"),
                needs=KEYGEN,
            ),
        ),
    ),
)

STORE = (
    StoryStep(
        "Was the evidence changed?",
        "A database tool changes a copy of the store. Each time, verify reports the change.",
        (
            Command("custody verify", says=("OK: ",)),
            Command(
                f"custody -C {COPY} verify",
                about="The date of a record is changed by ten days:",
                status=1,
                says=("CHAIN-LINK  record 22 ",),
                happens=_damage_sample_copy(damage.REDATED),
            ),
            Command(
                f"custody -C {COPY} gate main..{CLEAN}",
                about="With damaged evidence, even the clean change is blocked:",
                status=1,
                says=("x BLOCKED", "INTEG-DAMAGE"),
                only=VERDICT,
            ),
            Command(
                f"custody -C {COPY} verify",
                about="A record is deleted:",
                status=1,
                says=("CHAIN-GAP  record 30 ",),
                happens=_damage_sample_copy(damage.DELETED),
            ),
            Command(
                f"custody -C {COPY} verify",
                about="The last records are cut off:",
                status=1,
                says=("CHAIN-CUT  records 61 to ",),
                happens=_damage_sample_copy(damage.CUT_OFF),
            ),
            Command(
                f"custody -C {COPY} verify",
                about="The text of a record is replaced:",
                status=1,
                says=("BODY-CHANGED",),
                happens=_damage_sample_copy(damage.REPLACED),
            ),
        ),
    ),
    StoryStep(
        "Maintain the store",
        "Check the setup, export the records, erase a text, and uninstall.",
        (
            Command(
                "custody doctor -v",
                about="Check the setup. (It reports the forged trace too.)",
                says=("recorded 2 times with different content", "recorded live: Claude Code"),
                never=("FAILED ",),
                only=("chains", "observations", "hook"),
            ),
            Command(
                "custody export -o ../evidence.jsonl",
                about="Export everything to one file; importing it elsewhere gives the same chain:",
                says=("records of 1 chain",),
            ),
            Command(
                "custody erase 20 --reason 'a name in a prompt' --who ana --yes",
                about="Erase the text of a record; the record itself stays in the chain:",
                says=("erased",),
            ),
            Command("custody verify", says=("OK: ", "1 erased")),
            Command(
                "custody uninstall",
                about="Restore settings and hooks:",
                says=("settings.local.json", "post-commit"),
                lines=2,
            ),
            Command(
                "custody completion bash",
                about="Print the completion script for the shell:",
                says=("_custody_completion",),
                lines=1,
            ),
        ),
    ),
)
