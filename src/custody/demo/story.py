"""The story itself: every verb in turn. A new verb is a command in one of these steps, or a step of its own."""

from custody.demo.first_half import ASKED, RECORDED
from custody.demo.second_half import JUDGED, KEPT
from custody.demo.step import StoryStep

STORY: tuple[StoryStep, ...] = (*RECORDED, *ASKED, *JUDGED, *KEPT)
"""Everything that is told, in order: a new chapter goes in here."""
