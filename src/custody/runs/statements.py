"""What a text says about a change: tests pass, a linter ran, tests were added, only documents changed.

The detector reads everyday English in commit messages and descriptions, with or without Markdown. It skips code,
quotes, unchecked boxes, plans, questions, conditions and denials: what it returns is what the author said.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct
from msgspec.structs import replace

from custody.core.patterns import lazy_pattern
from custody.runs.model import StatementKind, TextStatement

TEXT_CHARACTERS_MAX = 200_000
"""Longer texts are read up to here."""
STATEMENTS_MAX = 100
"""Maximum number of statements of one text."""
SHOWN_MAX = 200
SENTENCE_CHARACTERS_MAX = 600
HEADING_CHARACTERS_MAX = 60


def find_statements(text: str) -> tuple[TextStatement, ...]:
    """Return the statements of a text in order, one of each kind for a sentence.

    >>> [(each.kind.value, each.line) for each in find_statements("Fix fees\\n\\nAll tests pass, lint is clean.")]
    [('tests-pass', 3), ('lint-passes', 3)]
    >>> find_statements("All tests should pass. Do the tests pass?\\n- [ ] all tests pass")
    ()
    """
    found: list[TextStatement] = []
    for sentence in _split_text(text[:TEXT_CHARACTERS_MAX]):
        kinds = _find_kinds(sentence)
        found += [
            TextStatement(kind, _show_sentence(sentence.raw), sentence.line, is_whole)
            for kind, is_whole in kinds.items()
        ]
        if len(found) >= STATEMENTS_MAX:
            break
    return tuple(found[:STATEMENTS_MAX])


def _show_sentence(raw: str) -> str:
    shown = " ".join(_LEAD.sub("", raw).split()).strip()
    return shown if len(shown) <= SHOWN_MAX else f"{shown[: SHOWN_MAX - 1]}…"


# --- sentences --------------------------------------------------------------------------------------------------------


class _Claim(Struct, frozen=True):
    """Words of a sentence that claim something."""

    kind: StatementKind
    start: int
    end: int


class _Place(Struct, frozen=True):
    """Where lines stand: behind a checked box, in a numbered list, under a heading about plans or results."""

    is_checked: bool = False
    is_planned: bool = False
    is_tested: bool = False
    is_numbered: bool = False


class _Sentence(Struct, frozen=True):
    """A sentence: as written, without emphasis, with its line; ``is_ticked``: a check mark stands before it."""

    raw: str
    plain: str
    line: int
    place: _Place
    is_ticked: bool = False


_FENCE = lazy_pattern(r"\s*(?:```|~~~)")
_HEADING = lazy_pattern(r"\s*#{1,6}\s+(.*)")
_STOP = lazy_pattern(r"[.!?]\s")
_ITEM = lazy_pattern(r"\s*(?:[-*+•]|\d{1,3}[.)]|[✅✓✔☑❌✗⚠])\s*(?=\W*\w)(?<=[\s✅✓✔☑❌✗⚠])")
_BOX = lazy_pattern(r"\s*(?:[-*+]|\d{1,3}[.)])\s+\[([ xX])\]\s+")
_LEAD = lazy_pattern(r"^\s*(?:#{1,6}\s+)?(?:(?:[-*+•]|\d{1,3}[.)])\s+)?(?:\[[xX]\]\s+)?(?:[✅✓✔☑]\ufe0f?\s*)?")
_NUMBERED = lazy_pattern(r"\s*\d{1,3}[.)]\s")
_CHECKED = lazy_pattern(r"\s*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?[✅✓✔☑]")
_COMMENT = lazy_pattern(r"<!--.*?(?:-->|\Z)", 16)
_EMPHASIS = lazy_pattern(r"\*{1,3}|(?<!\w)_{1,3}(?=\w)|(?<=\w)_{1,3}(?!\w)|~~")
_END = lazy_pattern(r"(?<=[.!?;])[\"')*]*\s+(?=[^a-z]|[a-z]+ )|(?<=[.!?;])\n")
_QUOTED = lazy_pattern(r"\"[^\"\n]{1,300}\"|“[^”\n]{1,300}”")
_PLANNED = lazy_pattern(
    r"\b(?:how (?:to|i|we) (?:test|verify|reproduce)|(?:next|remaining|recommended|suggested|future|"
    r"follow.?up) (?:steps?|work|"
    r"actions?|changes|improvements|fix\w*)|to.?dos?|plan|approach|options?|recommendations?|suggestions?|proposal|"
    r"proposed \w+|action items|what'?s (?:next|missing|left)|(?:acceptance|success) criteria|checklist|missing \w+|"
    r"implementation (?:order|plan|steps)|verification steps?|steps?)\b",
    2,
)
_TESTED = lazy_pattern(
    r"\b(?:testing|tests? run|verification|verified|validation|validated|tested|checks run|ran)\b(?! (?:plan|"
    r"steps|instructions|strategy|guide|notes for))",
    2,
)
_TEST_PLAN = lazy_pattern(r"\b(?:test(?:ing)? plan|testing|tests?|verification|verified|validation)\b", 2)


def _split_text(text: str) -> Iterator[_Sentence]:
    """Yield the sentences outside of code, quotes and unchecked items."""
    text = _COMMENT.sub(
        lambda found: "\n" * found.group().count("\n"), text.replace("\r\n", "\n").replace("\t", "    ")
    )
    is_code = False
    section = place = _Place()
    block: list[str] = []
    first = 1
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        is_fence = _FENCE.match(line) is not None
        is_alone = is_fence or is_code or not line.strip() or line.lstrip().startswith((">", "|", "#"))
        if is_alone or _ITEM.match(line):
            yield from _split_block(block, first, place)
            block = []
        if is_fence:
            is_code = not is_code
        box = _BOX.match(line)
        if is_fence or is_code or not line.strip() or line.lstrip().startswith(">") or (box and box[1] == " "):
            continue
        section = _read_heading(line) or section
        if not block:
            first = number
            place = replace(section, is_checked=box is not None, is_numbered=_NUMBERED.match(line) is not None)
        block.append(line)
        if is_alone:
            yield from _split_block(block, first, place)
            block = []


def _read_heading(line: str) -> _Place | None:
    """Return what a heading says of the lines below it; None for other lines."""
    heading = _HEADING.match(line)
    is_label = len(line) < HEADING_CHARACTERS_MAX and line.rstrip("* ").endswith(":") and not _STOP.search(line)
    if heading is None and not is_label:
        return None
    named = line if heading is None else heading[1]
    is_tested = _TESTED.search(named) is not None
    return _Place(is_planned=_PLANNED.search(named) is not None and not _TEST_PLAN.search(named), is_tested=is_tested)


def _split_block(block: Sequence[str], first: int, place: _Place) -> Iterator[_Sentence]:
    """Yield the sentences of lines that belong together."""
    raw = "\n".join(block)
    if not raw.strip() or (raw.startswith("    ") and not _ITEM.match(raw)):  # code by its indentation
        return
    plain = _EMPHASIS.sub(lambda found: " " * len(found.group()), raw)
    plain = _QUOTED.sub(lambda found: "\x01" * len(found.group()), plain)
    ends = [0, *(found.end() for found in _END.finditer(plain)), len(plain)]
    for start, end in pairwise(ends):
        line = first + raw.count("\n", 0, start + len(raw[start:end]) - len(raw[start:end].lstrip()))
        text = plain[start:end].replace("\n", " ").replace("’", "'")[:SENTENCE_CHARACTERS_MAX]
        is_ticked = start == 0 and _CHECKED.match(text) is not None
        text = _LEAD.sub("", text) if start == 0 else text
        yield _Sentence(raw[start:end], text.strip(), line, place, is_ticked)


# --- words ------------------------------------------------------------------------------------------------------------

_TEST_NOUN = (
    r"(?:race detector|(?:full|whole|entire) suite|test suites?|tests?(?:[- ](?:suites?|cases?|runs?|functions?|"
    r"scenarios?))?|specs|"
    r"subtests?|test:[\w:-]+|pytest|jest|"
    r"vitest|rspec|phpunit|(?:e2e|e2es))"
)
_LINT_NOUN = (
    r"(?:lint(?:ing|ers?)?(?: checks?)?|clippy|eslint|ruff|golangci-lint|flake8|pylint|rubocop|shellcheck|go vet)"
)
_TYPES_NOUN = (
    r"(?:type[- ]?check(?:s|ing|er|ers)?|typechecks?|mypy|pyright|tsc|type[- ]?safety checks?|"
    r"typing checks?)"
)
_BUILD_NOUN = r"(?:(?:release |production |clean |full |debug |prod )?builds?|compilation|compile)"
_FORMAT_NOUN = (
    r"(?:fmt|formatt(?:ing|er)(?: checks?)?|"
    r"(?<!error )(?<!json )(?<!file )(?<!output )(?<!data )format(?: checks?)?|gofmt|prettier|rustfmt|code style)"
)
_CHECKS_NOUN = (
    r"(?:(?:all|ci|quality|pre-?commit|status|required|local)(?: ci| status| quality| required| local|"
    r" pre-?commit| github)* checks?|^checks|ci(?:/cd)?|(?:ci )?pipelines?|pre-?commit(?: hooks?| checks?)|"
    r"everything|\d+\+? checks|(?:\d+ |other )*workflows|(?:pr|pull request|branch)(?= (?:is |now |fully )*green))"
)
_SUBJECT = lazy_pattern(
    r"(?<![\w:/.-])(?:"
    rf"(?P<command>`[^`\n]{{1,200}}`|(?:mise run|npm run|npm|pnpm(?: run)?|yarn(?: run)?|make|just|cargo|go|"
    rf"bun run|uv run"
    r"|mix|dotnet|\./gradlew|gradle|mvn|task) [a-z][\w:.-]*(?: \./\.\.\.)?)"
    rf"|(?P<tests>{_TEST_NOUN})(?! coverage)|(?P<lint>{_LINT_NOUN})|(?P<types>{_TYPES_NOUN})|(?P<build>{_BUILD_NOUN})"
    rf"|(?P<format>{_FORMAT_NOUN})|(?P<checks>{_CHECKS_NOUN})"
    r")(?![\w/-]|\.\w)",
    2,
)
_KINDS = {
    "tests": StatementKind.TESTS_PASS,
    "lint": StatementKind.LINT_PASSES,
    "types": StatementKind.TYPES_PASS,
    "build": StatementKind.BUILD_PASSES,
    "format": StatementKind.FORMATTED,
    "checks": StatementKind.CHECKS_PASS,
}
_RAN = {
    StatementKind.TESTS_PASS: StatementKind.TESTS_RAN,
    StatementKind.LINT_PASSES: StatementKind.LINT_RAN,
    StatementKind.TYPES_PASS: StatementKind.TYPES_RAN,
    StatementKind.BUILD_PASSES: StatementKind.BUILD_RAN,
}
_COMMAND_KINDS = (
    (
        lazy_pattern(
            r"\b(?:tests?|pytest|jest|vitest|rspec|phpunit|nextest)\b|"
            r"\btest[:_-]",
            2,
        ),
        StatementKind.TESTS_PASS,
    ),
    (
        lazy_pattern(r"lint|clippy|\bruff check|\bruff\b(?! format)|flake8|\bvet\b|rubocop|shellcheck", 2),
        StatementKind.LINT_PASSES,
    ),
    (lazy_pattern(r"type-?check|\bmypy\b|\btsc\b|pyright", 2), StatementKind.TYPES_PASS),
    (lazy_pattern(r"\b(?:build|compile)\b|\bcargo check\b|\bassemble\b", 2), StatementKind.BUILD_PASSES),
    (lazy_pattern(r"\bfmt\b|gofmt|\bformat\b|prettier|\bblack\b|rustfmt", 2), StatementKind.FORMATTED),
    (lazy_pattern(r"\b(?:check|checks|ci|verify|validate|pre-?commit|tox|nox)\b", 2), StatementKind.CHECKS_PASS),
)
_COMMAND = lazy_pattern(
    r"^`\s*(?:[A-Z_]+=\S+ )*(?:\S*/)?(?:(?:mise|npm|pnpm|yarn|npx|make|just|cargo|go|bun|bunx|uv|uvx|mix|dotnet|"
    r"gradlew|gradle|mvn|"
    r"task|tox|nox|python3?|poetry|bundle|rake|rails|docker|deno|node|composer|php|swift|bazel|ctest|bash|sh|"
    r"hatch|pdm|"
    r"pre-commit|golangci-lint|ruff|eslint|biome|black|prettier|gofmt|rustfmt|mypy|pyright|tsc|pytest|jest|"
    r"vitest|rspec|"
    r"phpunit|flake8|pylint|shellcheck|staticcheck|playwright|cypress|nx|turbo)\b[^`]*|[a-z]+:[a-z][\w:-]*|lint|"
    r"fmt|typecheck|"
    r")\s*`$"
)
_NAMED_TEST = lazy_pattern(r"^`(?:Test[A-Z]\w*|test_\w+)(?:\(\))?`$")
_OUTCOME = lazy_pattern(
    r"(?<![\w-])(?:success(?=\s*\||\s*$)|(?:is |are )?(?:fully |all )?green|pass(?:es|ed|ing)?|succeed(?:s|ed|"
    r"ing)?|green|clean(?:ly)?|successful(?:ly)?|compliant|"
    r"(?:0|zero|no|without(?: any)?) (?:[\w-]+ ){0,2}?(?:issues?|errors?|warnings?|failures?|problems?|"
    r"complaints?|violations?)|"
    r"(?:all )?ok(?=\s*(?:$|[.,;!)|]))|verified|complet(?:e|ed|es) (?:successfully|cleanly)|"
    r"(?:is|are|was|were) (?:all )?(?:fine|happy))(?!\w|-)|[✅✓✔☑]",
    2,
)
_SELF_OUTCOME = lazy_pattern(
    r"(?<!\w)(?:(?:code|it|fix|changes?|implementation|refactor(?:ing)?|module|version|project|everything|package|"
    r"binary|crate|app|cli|repo|all|tests|branch|which|and|that|now|still|also) "
    r"(?:now |still |also |all )*(?:compile[sd]?|builds|type-?checks)(?: and \w+)?(?: (?:again|now|clean|cleanly|"
    r"successfully|fine|correctly|without|on|for|with|ok)\b|\s*(?:$|[.,;!(]|and\b))"
    r"|^compiles(?=[.!])|^(?:compiles?|builds|type-?checks) (?:clean|cleanly|successfully|fine|without|ok)\b"
    r"|lint-(?:clean|free)\b|types? check\b(?! ?(?:er|ing|s\b)))",
    2,
)
_ALL_FIXED = lazy_pattern(
    r"\ball (?:the |remaining |of the )*(?P<subject>lint|type|build|compil)\w* (?:errors?|issues?|"
    r"warnings?) (?:are |is |have been |were |now "
    r"|all )*(?:fixed|resolved|gone)(?!\w)",
    2,
)
_FIXED_GROUPS = {"lint": "lint", "type": "types", "buil": "build", "comp": "build"}
_BEFORE = lazy_pattern(
    r"(?<![\w-])(?P<outcome>clean|successful|green|(?:0|zero|no|without(?: any)?)(?: new| remaining| more)?|"
    r"pass(?:es|ed)(?: (?:all|the|"
    r"our|its|both|every|ci|existing))*|"
    r"passing)\s+(?P<subject>(?:lint(?:er|ing)?|clippy|eslint|type|types|typecheck|mypy|tsc|build|compile|"
    r"compilation|compiler|test|tests|"
    r"unit tests|integration tests|test suite|format(?:ting)?|ci|checks)(?:[ /]and[ /]\w+|, \w+| & \w+)*)"
    r"(?P<rest>\s+(?:issues?|errors?|warnings?|failures?|violations?|problems?|complaints?|runs?))?(?!\w|-)",
    2,
)
_ALL_GREEN = lazy_pattern(
    r"(?:^|[.!,:—–-]\s*|\bdone[.!,:]?\s+)(?:now )?(?:all(?: (?:is|are|now|tests?))*|everything(?: is| now| still|"
    r" else)*|both(?: are)?) "
    r"(?:pass(?:es|ing|ed)?|green|clean)(?: now| again)?\s*(?:$|[.,;:!(—–-])",
    2,
)
_DENIED = lazy_pattern(
    r"(?<!\w)(?:not|never|no longer|cannot|can't|none|neither|nor|few|some|most|half|several|only some|isn't|"
    r"aren't|wasn't|weren't|doesn't|don't|"
    r"didn't|won't|hasn't|haven't|wouldn't|couldn't|shouldn't|without)(?!\w)",
    2,
)
_SUPPOSED = lazy_pattern(
    r"(?<!\w)(?:if|when|whenever|once|until|till|unless|whether|ensur(?:e|es|ing)|mak(?:e|es|ing) sure|let me|"
    r"let's|let us|lets|verify(?:ing)?|"
    r"confirm(?!ed|s)|check(?:ing)? (?:that|if|whether)|see (?:that|if|whether)|so that|so (?:the|all|your|"
    r"existing|our)|would|should|shall|could|might|may|will|'ll|must|needs?|needed|want(?:s|ed)?|"
    r"before|expect(?:s|ed|ing)?|assum(?:e|es|ing)|plan(?:s|ned|ning)?|todo|wait(?:s|ing)?|please|can|cannot|"
    r"going to|i'd|we'd|you'd|"
    r"to (?:get|have|keep|make|be|see|let|fix|verify|check|confirm|run|pass)|goal|requires?|required|running|"
    r"run these|try|trying|hopefully|would've|why|how|what|"
    r"claim(?:s|ed|ing)?|say(?:s|ing)?|report(?:s|ed)? that|think|believe|suggests?|even though|although|despite|"
    r"instead of|rather than)(?!\w)",
    2,
)
_PAST = lazy_pattern(
    r"(?<!\w)(?:previous(?:ly)?(?! failing)|earlier|yesterday|initially|originally|baseline|pre-existing|"
    r"used (?:for|to))"
    r"(?!\w)",
    2,
)
_LATER = lazy_pattern(
    r"^[^.;]{0,25}?(?<!\w)(?:except|apart from|other than|besides|aside from|if|unless|until|once|before|"
    r"only when|even though|even when|even if|because they|"
    r"because it|since they|since it|but (?:it|they|the \w+) (?:shouldn't|don't|doesn't|fails?)|"
    r"but fails?|but not)(?!\w)",
    2,
)
_FILLER = frozenset(
    "a an and or & + is are was were be been being have has had now still all also both again the of with on in "
    "for from to as at "
    "it its they them that this these those locally too both fully consistently together each every then after "
    "reported reports reporting shows showed showing show gives gave returns returned exits exited exit came "
    "come comes back run runs ran "
    "code status complete completed finish finished updated update added fixed existing new related relevant "
    "race detection detector enabled "
    "unit integration e2e end-to-end regression smoke acceptance functional lint linting linter types type "
    "format formatting fmt build builds tests test suite "
    "suites cases case checks check ci rebuilt green pass passed passing passes just already successfully stay "
    "stays stayed remain remains continue continues "
    "keep keeps were'nt result results yes i've we've completely cleanly only under across including both ok 0 "
    "entire whole full checker type-check "
    "here before-and-after above below looks look good stages jobs job steps step issues issue found written "
    "verified confirmed clean "
    "including both strategies packages package crates crate modules module project files file changes change "
    "scenarios matrix".split()
)
_WORD = lazy_pattern(r"`[^`]*`|[\w'/-]+")
_NUMBER = lazy_pattern(r"\d+(?:/\d+)?$")
UNKNOWN_WORDS_MAX = 2
GAP_CHARACTERS_MAX = 110
OUTCOMES_MAX = 2
_PARENTHESES = lazy_pattern(r"\([^()]*\)")


def _find_kinds(sentence: _Sentence) -> dict[StatementKind, bool]:
    """Return the kinds of statement in a sentence, and whether each is about all tests."""
    plain, place = sentence.plain, sentence.place
    if not plain or plain.rstrip("*_ )\"'").endswith("?") or (place.is_planned and not place.is_checked):
        return {}
    claims = [
        claim
        for claim in _find_claims(sentence)
        if (place.is_checked or not _is_supposed(plain[: claim.start]))
        and not _is_denied(plain[: claim.start])
        and not _LATER.match(_PARENTHESES.sub(" ", plain[claim.end :]))
        and not _is_partial(plain[max(0, claim.start - PARTIAL_CHARACTERS) : claim.end + PARTIAL_CHARACTERS])
    ]
    kinds: dict[StatementKind, bool] = {}
    for claim in claims:
        if claim.kind is StatementKind.CHECKS_PASS and any(_is_more_exact(other, claim) for other in claims):
            continue
        is_whole = claim.kind is StatementKind.TESTS_PASS and _is_about_all(
            plain[: claim.start], plain[claim.start : claim.end]
        )
        kinds[claim.kind] = kinds.get(claim.kind, False) or is_whole
    return kinds


def _is_more_exact(claim: _Claim, other: _Claim) -> bool:
    """Return whether a claim about tests, lint and so on stands where another is about any check."""
    return claim.kind is not StatementKind.CHECKS_PASS and claim.start < other.end and other.start < claim.end


def _is_supposed(before: str) -> bool:
    """Return whether the words before a claim make it a condition, a wish, a plan or a report of others."""
    if _SUPPOSED.search(before) is not None or _ORDER.match(before) is not None:
        return True
    return _PAST.search(_CLAUSE_END.split(_PARENTHESES.sub(" ", before))[-1]) is not None


_CLAUSE_END = lazy_pattern(r"[,;:—–|]|\s-\s|\)|\bbut\b|\band\b", 2)
_ORDER = lazy_pattern(
    r"\s*(?:run|re-?run|execute|verify|check|ensure|test|confirm|fix|wait|keep|make|try|watch|see|"
    r"validate)\s(?!s\b)|^\W*[⏳⏸🔄🚧❌✗⚠]",
    2,
)
"""A command to the reader at the start of a sentence."""


def _is_denied(before: str) -> bool:
    """Return whether one of the last words before a claim denies it."""
    clause = (
        before.replace("—", ",").rpartition(",")[2].rpartition(";")[2].rpartition(" but ")[2].rpartition(" and ")[2]
    )
    return _DENIED.search(" ".join(clause.split()[-4:])) is not None


_LISTED_TESTS = lazy_pattern(
    r"(?:\d+ )?(?:(?!run\b|all\b|existing\b|pass\w*)[\w-]+ ){0,5}?tests? (?:for|of|covering)\b(?!.*\bpass)", 2
)
"""Checked items that name tests: they were written."""
_BARE = lazy_pattern(
    r"(?:`[^`\n]+`|(?:(?:all|unit|integration|e2e|the|full) )*(?:tests?|test suite|lint(?:ing|er)?|"
    r"type[- ]?check(?:s|ing)?|build|format(?:ting)?|fmt)"
    r"|(?:mise run|npm run|npm|pnpm|yarn|make|just|cargo|go|bun|uv run|mix|dotnet|"
    r"python3? -m) [\w:./@ -]+)(?: ?\([^()]*\))?\W*$",
    2,
)
"""A subject alone: an item that is ticked, or under a heading about what was run."""
PARTIAL_CHARACTERS = 60
_RATIO = lazy_pattern(r"(?<![\w/])(\d{1,6})\s?(?:/|of)\s?(\d{1,6})(?![\w/])")
_NEEDING = lazy_pattern(
    r"\b[1-9]\d* (?:\w+ )?(?:need|needs|fail|fails|failing|failed|failures?|broken)\b|"
    r"\b\d+ tests?\W+\d+ passing\b|\bone test\b",
    2,
)


def _is_partial(near: str) -> bool:
    """Return whether the words around a claim say that only some passed: ``32/48 tests passing``.

    >>> [_is_partial(text) for text in ("32/48 tests passing", "9/9 pass", "3 passing, 2 failing", "0 failures")]
    [True, False, True, False]
    """
    return any(found[1] != found[2] for found in _RATIO.finditer(near)) or _NEEDING.search(near) is not None


_ALL = lazy_pattern(
    r"\b(?:all|every|full|entire|whole|complete) (?:of )?(?:the |our |its |existing |unit |integration |e2e |"
    r"\d+ |and |/ ?|\+ )*"
    r"(?:tests?\b|(?:test )?suite|specs\b|lint\w* and tests)",
    2,
)


def _is_about_all(before: str, claim: str) -> bool:
    """Return whether a claim is about all tests: ``all tests pass``, ``the whole suite passes``."""
    near = " ".join(before.split()[-4:])
    return _ALL.search(f"{near} {claim}") is not None


def _find_claims(sentence: _Sentence) -> Iterator[_Claim]:
    """Yield the claims of a sentence, with and without a verb."""
    plain = sentence.plain
    yield from _find_outcomes(plain)
    yield from _find_outcomes_before(plain)
    yield from _find_acts(plain)
    yield from _find_diff_claims(plain, may_order=not sentence.place.is_numbered)
    if sentence.place.is_checked and (listed := _LISTED_TESTS.match(plain)):
        yield _Claim(StatementKind.TESTS_WRITTEN, 0, listed.end())
    if (sentence.is_ticked or sentence.place.is_checked or sentence.place.is_tested) and (bare := _BARE.match(plain)):
        subject = _SUBJECT.search(plain)
        if (
            subject is not None
            and not _NAMED_TEST.match(subject.group())
            and (sentence.is_ticked or subject.lastgroup == "command")
        ):
            for kind in _name_subject(subject.group(), subject.lastgroup):
                is_passed = sentence.is_ticked or kind not in _RAN
                yield _Claim(kind if is_passed else _RAN[kind], 0, bare.end())


def _find_outcomes(plain: str) -> Iterator[_Claim]:
    """Yield subjects with an outcome after them: ``tests and lint pass``, ``lint: 0 issues``."""
    subjects = [
        (found, kinds) for found in _SUBJECT.finditer(plain) if (kinds := _name_subject(found.group(), found.lastgroup))
    ]
    outcomes = list(_OUTCOME.finditer(plain))
    for found, kinds in subjects:
        following = [each for each in outcomes if found.end() <= each.start() <= found.end() + GAP_CHARACTERS_MAX]
        end = next(
            (each for each in following[:OUTCOMES_MAX] if _is_outcome_of(found.group(), each, plain, found.end())), None
        )
        if end is not None:
            for kind in kinds:
                if _suits(kind, end.group(), plain[end.end() :]):
                    yield _Claim(kind, found.start(), end.end())
    for found in _ALL_FIXED.finditer(plain):
        for kind in _name_subject(found["subject"], _FIXED_GROUPS[found["subject"].lower()[:4]]):
            yield _Claim(kind, found.start(), found.end())
    for found in _SELF_OUTCOME.finditer(plain):
        words = found.group().lower()
        kind = StatementKind.LINT_PASSES if words.startswith("lint") else StatementKind.BUILD_PASSES
        kind = StatementKind.TYPES_PASS if "check" in words else kind
        yield _Claim(kind, found.start(), found.end())


def _is_outcome_of(subject: str, outcome: re.Match[str], plain: str, end: int) -> bool:
    """Return whether an outcome belongs to the subject before it.

    A tick in a table or behind a test's name may say that the test exists.
    """
    is_tick = not outcome.group()[0].isalnum()
    if is_tick and (_NAMED_TEST.match(subject) or "|" in plain):
        return False
    unknown_max = 0 if is_tick or subject.lower().startswith(("ci", "pipeline")) else UNKNOWN_WORDS_MAX
    return _joins(plain[end : outcome.start()], unknown_max, is_noun=outcome.group().lower() == "pass")


def _name_subject(text: str, group: str | None) -> tuple[StatementKind, ...]:
    """Return what a subject is about; nothing for code that is not a command."""
    if group != "command":
        return (_KINDS[group or "tests"],)
    if text.startswith("`") and _NAMED_TEST.match(text):
        return (StatementKind.TESTS_PASS,)
    if text.startswith("`") and not _COMMAND.match(text):
        return ()
    return tuple(kind for pattern, kind in _COMMAND_KINDS if pattern.search(text))[:4]


def _joins(between: str, unknown_max: int, *, is_noun: bool) -> bool:
    """Return whether the words between a subject and an outcome only join them."""
    between = _PARENTHESES.sub(" ", between)
    if (
        _DENIED.search(between)
        or _SUPPOSED.search(between)
        or any(mark in between for mark in ("?", "\x01", "❌", "✗", "⚠"))
    ):
        return False
    if between.lstrip().startswith((". ", "! ", "; ")):
        return False
    words = [word for word in _WORD.findall(between) if word[0].isalnum()]
    unknown = [word for word in words if word.lower() not in _FILLER and not _NUMBER.match(word)]
    if any(word.lower() in _BREAKS for word in unknown):
        return False
    if words and (words[-1].lower().startswith("compil") or (is_noun and words[-1] in unknown)):
        return False  # what compiles has not run, and a "fix pass" is not a result
    return len(unknown) <= unknown_max and (words[-1:] != ["to"] or words[-2:-1] in (["continue"], ["continues"]))


_BREAKS = frozenset(
    "that either previous earlier last fail fails failed failing failure failures error errors broken break breaks "
    "flaky skipped skip by which who "
    "where while"
    " than via calls call param parameter argument parameters arguments context value values through function method"
    " removed deleted pass-through nil null true false".split()
)
_OBJECT = lazy_pattern(
    r"\s+(?!with\b|on\b|in\b|for\b|and\b|now\b|again\b|\w+ly\b|across\b|without\b|after\b|under\b|including\b|"
    r"both\b|too\b|"
    r"from\b|at\b|as\b|because\b|but\b|though\b|since\b|so\b|all\b|either\b|here\b|there\b|unchanged\b|"
    r"before\b|when\b|if\b|except\b|once\b|lint\w*\b|tests?\b|clippy\b|ci\b|checks?\b|this\b|via\b|by\b|"
    r"to\b(?= \w+ the)|while\b|"
    r"which\b|even\b|or\b|per\b|fine\b|ok\b|today\b|between\b|against\b|over\b|also\b|still\b|unless\b|until\b|"
    r"apart\b|other\b|aside\b|only\b)[a-z]+",
    2,
)
_AFTER_TICK = lazy_pattern(
    r"\ufe0f?\s*(?:$|[|.,;:)(\]—–-]|pass|all\b|success|\d|clean|ok\b|green|no |done|"
    r"both\b|[✅✓✔☑])",
    2,
)
_VERB = lazy_pattern(r"\s+\w+ed\b", 2)
_CLEAN_NOUN = lazy_pattern(r"\s+(?!and\b|with\b|now\b|on\b|in\b|for\b|after\b|again\b|across\b)[a-z]", 2)
_TRANSITIVE = lazy_pattern(
    r"\s*(?:`|the\b|a\b|an\b|it\b|them\b|in\b(?! (?:ci|all|both|\d))|into\b|to\b|through\b|along\b|nil\b|null\b|"
    r"empty\b|any\b|"
    r"that\b|this\b|its\b|context\b|arguments?\b|args\b|data\b|\w+\()",
    2,
)


def _suits(kind: StatementKind, outcome: str, after: str) -> bool:
    """Return whether an outcome can be said of a subject: a test that passes a value is not a test that passed."""
    word = outcome.lower()
    if word in ("pass", "passes", "passing", "passed") and (_TRANSITIVE.match(after) or _OBJECT.match(after)):
        return False
    if not word[0].isalnum() and not _AFTER_TICK.match(after):
        return False
    if word == "successfully" and _VERB.match(after):
        return False
    if word == "clean" and _CLEAN_NOUN.match(after):
        return False
    if word in ("clean", "good", "compliant") and after.lstrip().lower().startswith(
        ("up", "separation", "code", "commit", "way")
    ):
        return False
    if word.startswith(("0 ", "zero ", "no ", "without ")) and kind is StatementKind.TESTS_PASS:
        return len(word.split()) <= 2 and word.endswith(
            ("failure", "failures", "error", "errors", "issues", "problems")
        )
    if word == "verified" and kind in (StatementKind.TESTS_PASS, StatementKind.CHECKS_PASS):
        return False
    if word == "green" and kind not in (
        StatementKind.TESTS_PASS,
        StatementKind.CHECKS_PASS,
        StatementKind.BUILD_PASSES,
    ):
        return not after.lstrip().lower().startswith(("color", "text", "/"))
    return True


def _find_outcomes_before(plain: str) -> Iterator[_Claim]:
    """Yield outcomes before their subject: ``no lint errors``, ``passes all tests``, ``all green: fmt, lint``."""
    for found in _BEFORE.finditer(plain):
        outcome, subject, rest = found["outcome"].lower(), found["subject"].lower(), found["rest"]
        counted = outcome.split()[0] in ("0", "zero", "no", "without")
        if counted != (rest is not None and "run" not in rest) or (outcome == "passing" and found.start() > 0):
            continue
        if not counted and subject.startswith(("build", "compil")) and rest is None:
            continue  # a clean build is also a build from scratch
        for pattern, kind in _SUBJECT_WORDS:
            if pattern.search(subject):
                yield _Claim(kind, found.start(), found.end())
    for found in _ALL_GREEN.finditer(plain):
        listed = [
            kind
            for each in _SUBJECT.finditer(plain, found.end())
            if _is_list(plain[found.end() : each.start()])
            for kind in _name_subject(each.group(), each.lastgroup)
            if kind is not StatementKind.CHECKS_PASS
        ]
        for kind in listed or (StatementKind.CHECKS_PASS,):
            yield _Claim(kind, found.start(), found.end())


_SUBJECT_WORDS = (
    (lazy_pattern(r"\btests?\b"), StatementKind.TESTS_PASS),
    (lazy_pattern(r"lint|clippy"), StatementKind.LINT_PASSES),
    (lazy_pattern(r"\btypes?|typecheck|mypy|tsc"), StatementKind.TYPES_PASS),
    (lazy_pattern(r"build|compil"), StatementKind.BUILD_PASSES),
    (lazy_pattern(r"format"), StatementKind.FORMATTED),
    (lazy_pattern(r"\bci\b|checks"), StatementKind.CHECKS_PASS),
)


def _is_list(between: str) -> bool:
    """Return whether only listed subjects are between two places."""
    words = [word.lower() for word in _WORD.findall(between) if not word.startswith("`")]
    return len(words) <= 12 and all(word in _FILLER for word in words)


_ACT = lazy_pattern(
    r"(?<!\w)(?P<verb>(?:re-?)?ran|(?:have|has|i've|we've|been|was|were) (?:re-?)?run|executed|(?:tested|"
    r"verified|checked|validated|confirmed) (?:with|by running|using)(?= `| (?:go|cargo|npm|make|pytest|mise|"
    r"pnpm|yarn) | running))"
    r"\s+(?P<between>(?:[\w'-]+\s+){0,4}?)",
    2,
)
_LINTED = lazy_pattern(
    r"(?<![\w-])(?:is|are|been|code|was|were|and|,) (?:all |properly |now )*(?P<word>linted|formatted|"
    r"type-?checked)(?!\w)",
    2,
)


def _find_acts(plain: str) -> Iterator[_Claim]:
    """Yield what somebody says they ran: ``ran the linter``, ``verified with `go test```."""
    for found in _ACT.finditer(plain):
        end = found.end()
        for subject in _SUBJECT.finditer(plain, end):
            between = plain[end : subject.start()]
            if not _is_list(between) or ";" in between:
                break
            kinds = _name_subject(subject.group(), subject.lastgroup)
            if not kinds:
                break
            for kind in kinds:
                if kind in _RAN:
                    yield _Claim(_RAN[kind], found.start(), subject.end())
            end = subject.end()
    for found in _LINTED.finditer(plain):
        kind = _WORD_KINDS[found["word"].lower()[:4]]
        if kind is not StatementKind.FORMATTED or _CODE_SUBJECT.search(plain[: found.start() + 4]):
            yield _Claim(kind, found.start(), found.end())


_WORD_KINDS = {
    "lint": StatementKind.LINT_RAN,
    "form": StatementKind.FORMATTED,
    "type": StatementKind.TYPES_RAN,
}
_CODE_SUBJECT = lazy_pattern(r"\b(?:code|files|everything|all|lint(?:ed)?|tests)\b", 2)

# --- what a text says about the diff ----------------------------------------------------------------------------------

_QUALIFIER = r"(?:[\w`'./()+-]+,? ){0,6}?"
_WRITTEN = lazy_pattern(
    r"(?<![\w-])(?:(?P<verb>(?:also |i |we |i've |we've |have |has |and |then )*(?:added|adds|wrote|written|"
    r"writes|created|creates|introduces|introduced|extended|"
    r"extends|expanded|expands|implemented|updated|updates|improved|improves))|"
    r"(?P<order>^(?:`[^`]{1,40}`\s*[—–:-]*\s*)?(?:\w+(?:\([^)]*\))?!?: ?)?(?:also )?(?:add|update|write|extend|"
    r"expand|include|create|cover)))\s+"
    rf"(?P<what>{_QUALIFIER})(?P<noun>(?:unit[- ])?tests|test suites?|test[- ](?:cases?|files|expectations|"
    rf"assertions)|"
    rf"test coverage|subtests?|specs|"
    rf"test functions?|test scenarios?|assertions|(?:unit[- ])?test(?=\s*(?:$|[.,;:!)(`—–-]|(?:for|to|that|in|of|on|"
    rf"which|verif\w+|cover\w+|with|and|so|ensur\w+|around|at|using|when|where|under)\b)))(?!\w|-|/|\.\w|`)"
    r"(?! (?:data|fixtures?|helpers?|files? names?|utils?|utilit\w+|commands?|plans?|frameworks?|flags?|modes?|"
    r"runners?|env\w*|harness\w*|infra\w*|suite name|tasks?|jobs?|scripts?|targets?|steps?|"
    r"stubs?|keys?|tokens?|servers?|clients?|accounts?|users?|pages?|buttons?|results?|output|workflows?|doc\w*|"
    r"instructions?|section|setup|binary|mocks?|packages?|names?|constants?|agents?|comments?|paths?|tags?|"
    r"config\w*))",
    2,
)
_WRITTEN_PASSIVE = lazy_pattern(
    r"(?<![\w-])(?:(?:(?:new |unit |integration |regression |e2e )*(?:tests|test cases|test coverage)|(?:new |"
    r"unit |regression )+test|^tests?)"
    r" (?:(?:is|are|was|were|have been|has been|also) )?(?:added|written|included|extended|updated)(?! (?:with|"
    r"in `?docs))"
    r"|\d+ (?:[\w-]+ ){0,3}(?:tests|test (?:files|suites|cases)) (?:created|added)"
    r"|(?:is|are|now|fully|also) covered by (?:[\w-]+ ){0,3}tests?|with (?:new |unit |full |comprehensive |"
    r"regression )+tests|\d+ new (?:[\w-]+ ){0,2}tests?|^new tests?(?: files?| cases?| functions?)?(?=\s*(?:$|"
    r"[:(`—–-])))(?!\w)",
    2,
)
_NAMED = lazy_pattern(
    r"(?<![\w-])(?:[Aa]dded|[Aa]dds|[Ww]rote|"
    r"^(?:\w+(?:\([^)]*\))?!?: ?)?[Aa]dd) (?:[\w-]+ ){0,2}`?(?:Test[A-Z]\w+|test_\w+)"
    r"\b(?!\.\w|`? (?:helper|fixture|constant|package))|(?<![\w-])[Uu]pdated `?(?:Test[A-Z]\w*_\w+|"
    r"test_\w+)\b(?!\.\w)"
)
_NO_TEST = lazy_pattern(
    r"(?:\black\w*|\bmissing|\bno|\bwith|\bwithout|\bto|\bfor|\bof|\bin|\bfrom|\bby|\bthat|\bwhich|\bwhen|\bif|"
    r"\bso|\bbecause|"
    r"\bafter|\bbefore|\brun\w*|\bused|\bpass\w*|\bfix\w*|:|—|–)\s",
    2,
)
_BEHAVIOR = r"(?:behaviou?rs?|functionality|logic|semantics)"
_SAME = r"(?:unchanged|preserved|unaffected|(?:the same|identical)(?: (?:as|to) before)?(?=\s*(?:$|[.,;)—–])))"
_UNCHANGED = lazy_pattern(
    r"(?<![\w-])(?:(?:no|zero|without(?: any)?) (?:intended |actual |user[- ](?:visible|facing) |other |real |"
    r"runtime |observable |intentional |production |net |code or )*(?:behaviou?r(?:al)?|functional(?:ity)?|"
    r"semantic|logic|runtime)(?: or \w+)? (?:changes?|differences?|impact)"
    rf"|no changes? (?:in|to|of) (?:the |any |existing |runtime |actual |production |observable )*{_BEHAVIOR}"
    rf"|non-functional changes?|no user[- ](?:visible|facing) changes?"
    rf"|^(?:the |all |existing |current |overall |runtime |user-facing )*{_BEHAVIOR} (?:is |are |remains? |"
    rf"stays? |was |were |has been |itself is |completely |otherwise )*{_SAME}"
    rf"|(?:does not|doesn't|do not|don't|did not|didn't|not|without) (?:chang(?:e|es|ed|ing)|alter(?:s|ed|ing)?|"
    rf"affect(?:s|ed|ing)?|modify(?:ing)?) (?:any |the |existing |runtime |actual |observable |current )*{_BEHAVIOR}"
    r"|pure(?:ly)?(?: a| an)?(?: mechanical)? (?:refactor(?:ing)?|rename|move|cleanup)|refactor(?:ing)? only|"
    r"behaviou?r[- ]preserving|"
    r"functionally unchanged|(?:maintain|preserv)(?:s|es|ed|ing) (?:all |the |its |same |existing |identical |"
    r"current )*(?:behaviou?r|functionality))(?!\w|-)|\[NFC\]|(?<=[,:] )NFC(?=\W*$)",
    2,
)
_DOCS = r"(?:docs?|documentation|readmes?|comments?|docstrings?|markdown)"
_DOCS_ONLY = lazy_pattern(
    rf"(?<![\w-])(?:{_DOCS}[- ]only(?: (?:changes?|updates?|pr|commit|fix))?"
    rf"|only (?:(?:touch|chang|updat|affect|modif|edit)(?:es|ed|s|ies|ied)) (?:the |some |"
    rf"our )*{_DOCS}(?: (?:files?|changes?|and \w+))?(?=\s*(?:$|[.,;!)]))"
    rf"|only (?:the )?{_DOCS}(?: (?:files?|and {_DOCS}))?(?: (?:changes?|updates?|(?:is |are |was |were |has |"
    rf"have |been )*(?:changed|touched|updated|modified|affected|edited)))"
    rf"|(?:this is |these are |it's )?(?:just|purely|only|solely) (?:a )?{_DOCS} (?:changes?|updates?|fix(?:es)?)"
    r"|(?:(?<=^)|(?<=\()|(?<=[;:] )|(?<=— ))no (?:actual |functional |source |real )*code (?:changes?|(?:was |"
    r"were |is |has been |"
    r"have been )*(?:changed|touched|modified))"
    r"|no changes? to (?:the |any |actual |source )*code"
    r"|(?:does not|doesn't|do not|don't|did not|didn't|without) (?:chang(?:e|ing)|touch(?:ing)?|"
    r"modify(?:ing)?) (?:any |the |actual |source )*code)(?!\w|-| (?:flow|path|owner))",
    2,
)
_NO_PRODUCTION = lazy_pattern(
    r"(?<![\w-])(?:tests?[- ]only (?:changes?|pr|commit|fix|updates?)"
    r"|only (?:(?:touch|chang|updat|affect|modif|edit|add)(?:es|ed|s|ies|ied)) (?:the |some |our |"
    r"new )*(?:tests?|test files?|test code)(?=\s*(?:$|[.,;!)]))"
    r"|only (?:the )?tests?(?: files?| code)? (?:changes?|(?:is |are |was |were |has |have |been )*(?:changed|"
    r"touched|updated|modified|affected))"
    r"|no (?:production|prod|non-test|runtime|application|app) (?:code )?(?:changes?|files? (?:changed|touched)|"
    r"code (?:was |were |is |has been )*(?:changed|touched|modified|affected))"
    r"|no changes? to (?:the |any )*(?:production|prod|non-test|runtime|application) code"
    r"|(?:does not|doesn't|do not|don't|did not|didn't|without) (?:chang(?:e|ing)|touch(?:ing)?|"
    r"modify(?:ing)?) (?:any |the )*(?:production|prod|non-test|runtime|application) code)(?!\w|-)",
    2,
)


def _find_diff_claims(plain: str, *, may_order: bool) -> Iterator[_Claim]:
    """Yield what a sentence says about the diff: tests were written, only documents changed."""
    for found in _WRITTEN.finditer(plain):
        if not _NO_TEST.search(found["what"]) and (
            found["order"] is None or may_order or found["order"].startswith("`")
        ):
            yield _Claim(StatementKind.TESTS_WRITTEN, found.start(), found.end())
    for pattern, kind in (
        (_NAMED, StatementKind.TESTS_WRITTEN),
        (_WRITTEN_PASSIVE, StatementKind.TESTS_WRITTEN),
        (_UNCHANGED, StatementKind.NO_BEHAVIOR_CHANGE),
        (_DOCS_ONLY, StatementKind.DOCS_ONLY),
        (_NO_PRODUCTION, StatementKind.NO_PRODUCTION_CODE),
    ):
        for found in pattern.finditer(plain):
            yield _Claim(kind, found.start(), found.end())
