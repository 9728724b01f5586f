"""A review from a file that anybody may have written: its size and its schema are checked."""

import msgspec

from custody.core.errors import InputError
from custody.review.wire import ReviewReport

ARTIFACT_BYTES_MAX = 16 * 1024 * 1024
NOT_A_REVIEW = "pass the output of 'custody review --json'"


def decode_review(artifact: bytes) -> ReviewReport:
    """Decode the JSON of a review; an ``InputError`` if it is too large or anything else."""
    if len(artifact) > ARTIFACT_BYTES_MAX:
        raise InputError(f"the review is larger than {ARTIFACT_BYTES_MAX:,} bytes", hint=NOT_A_REVIEW)
    try:
        review = msgspec.json.decode(artifact, type=ReviewReport)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError("the file is not a review of custody", hint=NOT_A_REVIEW) from error
    if review.order != [hunk.id for hunk in review.hunks]:
        raise InputError("the order of the review is not that of its hunks", hint=NOT_A_REVIEW)
    return review
