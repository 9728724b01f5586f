"""The launcher that an agent runs at each of its hooks, copied beside the store.

It prints nothing on stdout, because agents pass that to the model; only Cursor gets the answer that it waits for. It
always exits 0, and names every loss on stderr and in ``gaps``.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def report_uncaught(kind, error, trace):  # type: ignore[no-untyped-def]
    """Print one line, count an uncaught error where ``custody doctor`` reads it, and exit 0.

    The library may be what is broken, so nothing of it is used. Each way out is tried, whatever became of the others.
    """
    try:
        import time  # only for what never happens

        text = f"{kind.__name__}: {' '.join(str(error).split())[:200]}"
        base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
        line = f"{time.time_ns()} {text}\n".encode("utf-8", "replace")
        for leave in (_print_last_words, _count_in_home, _count_in_user_folder):
            try:
                if leave(text, line, base):
                    break
            except Exception:  # noqa: BLE001, S112 - the next way out may work
                continue
    finally:
        os._exit(0)


def _print_last_words(text: str, line: bytes, base: str) -> bool:
    sys.stderr.write(f"custody: not recorded: {text}\n")
    sys.stderr.flush()
    return False  # agents may discard it: it is counted too


def _count_in_home(text: str, line: bytes, base: str) -> bool:
    return _append_gap(os.path.dirname(HERE), line)


def _count_in_user_folder(text: str, line: bytes, base: str) -> bool:
    folder = os.path.join(base, "custody")
    os.makedirs(folder, 0o700, exist_ok=True)
    return _append_gap(folder, line)


def _append_gap(folder: str, line: bytes) -> bool:
    handle = os.open(os.path.join(folder, "gaps"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    return os.write(handle, line) > 0


if __name__ == "__main__":
    sys.excepthook = report_uncaught
    sys.dont_write_bytecode = True
    sys.path.insert(0, HERE)
    if "git" in sys.argv[1:3]:
        from lib.commit_event import main  # type: ignore[import-not-found]
    else:
        from lib.event_recorder import main  # type: ignore[import-not-found]

    main(sys.argv[1:], HERE)
    os._exit(0)
