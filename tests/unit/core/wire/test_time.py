"""Times: RFC 3339 outside, nanoseconds inside, converted without loss."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from custody.core.errors import InputError
from custody.core.wire.time import check_timestamp_ns, format_timestamp, parse_timestamp
from tests.builders.drawn import NS_MAX, moments_ns
from tests.builders.table import table

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
minutes = st.integers(-(23 * 60 + 59), 23 * 60 + 59)


def zone_text(offset: int) -> str:
    return f"{'-' if offset < 0 else '+'}{abs(offset) // 60:02d}:{abs(offset) % 60:02d}"


@given(moments_ns)
def test_every_moment_that_a_store_can_hold_survives_the_way_through_text(ns: int) -> None:
    assert parse_timestamp(format_timestamp(ns)) == ns


@given(moments_ns, moments_ns)
def test_different_moments_have_different_texts(one: int, other: int) -> None:
    assert (format_timestamp(one) == format_timestamp(other)) == (one == other)


@given(st.integers(-(NS_MAX // 10**9) + 90_000, NS_MAX // 10**9 - 90_000), minutes, st.sampled_from("T t"))
def test_a_zone_is_another_spelling_of_the_same_moment(seconds: int, offset: int, between: str) -> None:
    local = (EPOCH + timedelta(seconds=seconds)).astimezone(timezone(timedelta(minutes=offset)))
    text = f"{local:%Y-%m-%d}{between}{local:%H:%M:%S}{zone_text(offset)}"
    assert parse_timestamp(text) == seconds * 10**9


@given(st.text(st.sampled_from("0123456789"), min_size=1, max_size=9), st.booleans())
def test_a_fraction_has_one_to_nine_digits(digits: str, before_1970: bool) -> None:
    second, whole = ("1969-12-31T23:59:59", -1) if before_1970 else ("1970-01-01T00:00:00", 0)
    assert parse_timestamp(f"{second}.{digits}Z") == whole * 10**9 + int(digits) * 10 ** (9 - len(digits))


@given(st.text(st.sampled_from("0123456789"), min_size=10, max_size=20))
def test_digits_finer_than_a_nanosecond_are_dropped(digits: str) -> None:
    assert parse_timestamp(f"1970-01-01T00:00:00.{digits}Z") == int(digits[:9])


@table(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01t00:00:00z", 0),
        ("1970-01-01 00:00:00Z", 0),
        ("1970-01-01T00:00:00-00:00", 0),
        ("1970-01-01T01:00:00.5+01:00", 500_000_000),
        ("1969-12-31T19:00:00-05:00", 0),
        ("1970-01-01T05:45:00.000000001+05:45", 1),
        ("1969-12-31T23:59:59.999999999Z", -1),
        # date -ud 2026-01-31T12:00:00Z +%s
        ("2026-01-31T12:00:00Z", 1_769_860_800 * 10**9),
        ("2000-02-29T00:00:00Z", 951_782_400 * 10**9),
        ("2024-02-29T23:59:59Z", 1_709_251_199 * 10**9),
        ("1677-09-21T00:12:43.145224193Z", -NS_MAX),
        ("2262-04-11T23:47:16.854775807Z", NS_MAX),
        ("2262-04-12T23:46:16.854775807+23:59", NS_MAX),
        ("1677-09-20T00:13:43.145224193-23:59", -NS_MAX),
    ],
)
def test_moments_by_hand(text: str, ns: int) -> None:
    assert parse_timestamp(text) == ns


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1_500_000_000, "1970-01-01T00:00:01.5Z"),
        (-1, "1969-12-31T23:59:59.999999999Z"),
        (1_000, "1970-01-01T00:00:00.000001Z"),
        (1_769_860_800 * 10**9, "2026-01-31T12:00:00Z"),
        (-NS_MAX, "1677-09-21T00:12:43.145224193Z"),
        (NS_MAX, "2262-04-11T23:47:16.854775807Z"),
    ],
)
def test_texts_by_hand(ns: int, text: str) -> None:
    assert format_timestamp(ns) == text


@table(
    "text",
    [
        "",
        "now",
        "2026-01-31",
        "2026-01-31T12:00:00",
        "2026-01-31T12:00Z",
        "2026-1-31T12:00:00Z",
        "2026-01-31T12:00:00.Z",
        "2026-01-31T12:00:00,5Z",
        "2026-01-31T12:00:00+0100",
        "2026-01-31T12:00:00+01",
        "2026-01-31T12:00:00 Z",
        " 2026-01-31T12:00:00Z",
        "2026-01-31T12:00:00Z\n",
        "2026-01-31T12:00:00Zz",
        "2026-01-31T12:00:00UTC",
        "-2026-01-31T12:00:00Z",
        "12026-01-31T12:00:00Z",
        "٢٠٢٦-01-31T12:00:00Z",
        "2026-01-31\u00a012:00:00Z",
        "2026-W05-6T12:00:00Z",
        "2026-01-31T12:00:00\u2212" + "01:00",
        "\ud800",
    ],
)
def test_what_is_not_written_as_a_moment_is_refused_with_how_to_write_one(text: str) -> None:
    with pytest.raises(InputError, match="invalid timestamp '") as refusal:
        parse_timestamp(text)
    assert refusal.value.hint == "use RFC 3339 with a zone: 2026-01-31T12:00:00Z"


@table(
    "text",
    [
        "2023-02-29T00:00:00Z",
        "1900-02-29T00:00:00Z",
        "2026-02-30T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-00-10T00:00:00Z",
        "2026-13-10T00:00:00Z",
        "2026-01-00T00:00:00Z",
        "2026-01-32T00:00:00Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T12:60:00Z",
        "2016-12-31T23:59:60Z",
        "0000-01-01T00:00:00Z",
        "2026-01-31T12:00:00+24:00",
        "2026-01-31T12:00:00+01:60",
        "2026-01-31T12:00:00-99:99",
    ],
)
def test_a_day_an_hour_or_a_zone_that_does_not_exist_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="invalid timestamp '.*': "):
        parse_timestamp(text)


@pytest.mark.parametrize(
    "text",
    [
        "1677-09-21T00:12:43.145224192Z",
        "2262-04-11T23:47:16.854775808Z",
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+23:59",
        "9999-12-31T23:59:59.999999999Z",
        "9999-12-31T23:59:59-23:59",
        "1600-01-01T00:00:00Z",
        "2300-01-01T00:00:00Z",
    ],
)
def test_moments_beyond_what_a_store_can_hold_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="outside the years 1678 to 2261"):
        parse_timestamp(text)


@given(st.integers(-NS_MAX - 3, -NS_MAX + 3) | st.integers(NS_MAX - 3, NS_MAX + 3))
def test_the_range_is_checked_to_the_nanosecond(ns: int) -> None:
    if abs(ns) <= 2**63 - 1:
        assert check_timestamp_ns(ns) == ns
    else:
        with pytest.raises(InputError):
            check_timestamp_ns(ns)


@given(st.text(st.sampled_from("0123456789-:TtZz+. \n"), max_size=32) | st.text(max_size=32))
@example("9" * 64)
def test_any_text_is_a_moment_or_refused(text: str) -> None:
    try:
        ns = parse_timestamp(text)
    except InputError:
        return
    assert parse_timestamp(format_timestamp(ns)) == ns


@given(
    st.from_regex(
        r"(16|19|20|22)\d\d-[01]\d-[0-3]\d[Tt ][0-2]\d:[0-6]\d:[0-6]\d(\.\d{1,12})?(Z|[+-][0-2]\d:[0-6]\d)",
        fullmatch=True,
    )
)
def test_what_is_nearly_a_moment_is_one_exactly_when_the_standard_library_knows_it(text: str) -> None:
    stamp = text.upper().replace(" ", "T")
    seconds, _, rest = stamp.partition(".")
    zone = stamp[19:].lstrip(".0123456789")
    try:
        expected = int((datetime.fromisoformat(seconds[:19] + zone.replace("Z", "+00:00")) - EPOCH).total_seconds())
    except ValueError:
        with pytest.raises(InputError):
            parse_timestamp(text)
        return
    digits = rest[: len(rest) - len(zone)][:9]
    ns = expected * 10**9 + (int(digits.ljust(9, "0")) if digits else 0)
    if abs(ns) <= NS_MAX:
        assert parse_timestamp(text) == ns
    else:
        with pytest.raises(InputError):
            parse_timestamp(text)


def test_a_refusal_stays_short_whatever_was_sent() -> None:
    with pytest.raises(InputError) as refusal:
        parse_timestamp("9" * 100_000)
    assert len(refusal.value.message) < 200
