"""Progress is one line that is cleared before the result is printed."""

import io

from custody.terminal.progress import ProgressLine


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_long_work_shows_how_far_it_is_and_leaves_nothing_behind() -> None:
    stream, clock = io.StringIO(), Clock()
    line = ProgressLine(stream, 80, clock)
    line.start("counting", 2000)
    line.step(1)
    assert stream.getvalue() == "", "short work shows nothing"
    clock.now += 1
    line.step(1233)
    assert stream.getvalue() == "\r\x1b[Kcounting: 1,234 of 2,000"
    line.stop()
    assert stream.getvalue().endswith("\r\x1b[K")


def test_bytes_are_shown_in_megabytes() -> None:
    stream, clock = io.StringIO(), Clock()
    line = ProgressLine(stream, 80, clock)
    line.start_bytes("importing transcripts", 397_816_297)
    clock.now += 1
    line.step(151_108_974)
    assert stream.getvalue() == "\r\x1b[Kimporting transcripts: 151.1 of 397.8 MB"
    line.start("counting", 2)
    clock.now += 1
    line.step(1)
    assert stream.getvalue().endswith("\r\x1b[Kcounting: 1 of 2")


def test_it_is_redrawn_at_most_ten_times_a_second_and_never_wider_than_the_terminal() -> None:
    stream, clock = io.StringIO(), Clock()
    line = ProgressLine(stream, 12, clock)
    line.start("reading commits", None)
    clock.now += 1
    for _ in range(50):
        line.step(1)
        clock.now += 0.01
    drawn = stream.getvalue().split("\r\x1b[K")[1:]
    assert 4 <= len(drawn) <= 6
    assert all(len(text) <= 11 for text in drawn)


def test_work_that_was_never_shown_takes_nothing_away() -> None:
    stream = io.StringIO()
    line = ProgressLine(stream, 80, Clock())
    line.start("counting", 3)
    line.stop()
    assert stream.getvalue() == ""
