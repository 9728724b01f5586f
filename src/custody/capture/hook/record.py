"""What an agent runs at each of its hooks, copied beside the store: never in the way, never silent about a loss.

Prints nothing on stdout (agents feed that to the model) but that Cursor may go on, which waits for the word; always
exits 0; whatever goes wrong is counted in ``gaps``.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def report_uncaught(kind, error, trace):  # type: ignore[no-untyped-def]
    """Nothing caught this: count it where doctor looks, say one line, and still do the agent no harm."""
    try:
        words = f"{kind.__name__}: {' '.join(str(error).split())[:200]}"
        handle = os.open(os.path.join(os.path.dirname(HERE), "gaps"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(handle, f"{words}\n".encode("utf-8", "replace"))
        sys.stderr.write(f"custody: not recorded: {words}\n")
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
