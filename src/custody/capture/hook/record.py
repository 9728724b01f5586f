"""The launcher that an agent runs at each of its hooks, copied beside the store.

It prints nothing on stdout, because agents pass that to the model; only Cursor gets the answer that it waits for. It
always exits 0, and counts every loss in ``gaps``.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def report_uncaught(kind, error, trace):  # type: ignore[no-untyped-def]
    """Count an uncaught error where ``custody doctor`` reads it, print one line, and exit 0."""
    try:
        text = f"{kind.__name__}: {' '.join(str(error).split())[:200]}"
        handle = os.open(os.path.join(os.path.dirname(HERE), "gaps"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(handle, f"{text}\n".encode("utf-8", "replace"))
        sys.stderr.write(f"custody: not recorded: {text}\n")
    finally:
        os._exit(0)


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
