"""``kill -9`` at any time: recorders and ingesting processes die, readers continue, no acknowledged event is lost."""

import time

from bench.faults.crew import Worker, a_repository, first_line, kept, start, whole_lines
from bench.faults.frame import Fault, Figures, Trial, none_of, seen, some

WORK_S_MAX = 0.25
RECORDERS, EVENTS_EACH, DRAINER_KILLS = 32, 50, 13


def killed(trial: Trial) -> Figures:
    """Run a recorder and an ingesting process for a random time per round and kill them, with a reader running."""
    repository = a_repository(trial.folder / "repository")
    receipts: list[str] = []
    errors: list[str] = []
    looks = 0
    reader = start("read", repository)
    first_line(reader)
    for round_ in trial.each():
        recorder = start("record", repository, f"r{round_.number}", 1_000_000)
        drainer = start("drain", repository)
        said = first_line(recorder)
        time.sleep(round_.random.uniform(0, WORK_S_MAX))
        receipts += whole_lines(said + _end(recorder))
        drainer.kill()
        errors += [line for line in whole_lines(drainer.communicate()[1]) if "Error" in line]
    reader.terminate()
    output, complaint = reader.communicate()
    for line in whole_lines(output):
        errors += [line] if line.startswith("error") else []
        looks += int(line.partition(" ")[2]) if line.startswith("looks") else 0
    after = kept(repository, receipts)
    return {
        "events acknowledged": some(len(receipts), trial.rounds),
        "acknowledged records lost": none_of(after.missing),
        "records kept twice": none_of(after.repeated),
        "reader looks": some(looks),
        "reader errors": none_of(len(errors) + len(whole_lines(complaint))),
        "findings of verify": none_of(len(after.report.findings)),
    }


def crowded(trial: Trial) -> Figures:
    """Run many recorders at once while ingesting processes are killed repeatedly."""
    missing = repeated = findings = acknowledged = kills = 0
    for round_ in trial.each():
        repository = a_repository(round_.folder / "repository")
        crowd = [start("record", repository, f"r{n}", EVENTS_EACH) for n in range(RECORDERS)]
        for _ in range(DRAINER_KILLS):
            drainer = start("drain", repository)
            time.sleep(round_.random.uniform(0.1, 0.6))
            kills += drainer.poll() is None
            _end(drainer)
        receipts = [line for recorder in crowd for line in whole_lines(recorder.communicate()[0])]
        after = kept(repository, receipts)
        acknowledged += len(receipts)
        missing += after.missing + abs(after.report.records - len(receipts))
        repeated += after.repeated
        findings += len(after.report.findings)
    whole = RECORDERS * EVENTS_EACH * trial.rounds
    return {
        "recorders": seen(RECORDERS),
        "ingesting processes killed": some(kills, trial.rounds),
        "events acknowledged": some(acknowledged, whole),
        "missing or duplicate records": none_of(missing),
        "records kept twice": none_of(repeated),
        "findings of verify": none_of(findings),
    }


def _end(worker: Worker) -> str:
    worker.kill()
    return worker.communicate()[0]


FAULTS = (
    Fault(
        name="kill",
        what="kill -9 of recorders and ingesting processes at random times, with a reader running",
        run=killed,
        rounds=200,
    ),
    Fault(
        name="crowd",
        what="32 recorders of 50 events each while ingesting processes are killed",
        run=crowded,
        rounds=1,
    ),
)
