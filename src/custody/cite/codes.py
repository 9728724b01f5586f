"""Every finding that an audit can have, in one table."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType


class CitationCode(Enum):
    """The name of a finding."""

    NONE = "CITE-NONE"
    UNKNOWN = "CITE-UNKNOWN"
    UNUSED = "CITE-UNUSED"
    GAP = "CITE-GAP"
    ORDER = "CITE-ORDER"
    TWICE = "CITE-TWICE"
    CLASH = "CITE-CLASH"
    DOMAIN = "CITE-DOMAIN"
    SCHEME = "CITE-SCHEME"
    EMPTY = "CITE-EMPTY"
    LIST = "CITE-LIST"
    RANGE = "CITE-RANGE"
    CIRCLE = "CITE-CIRCLE"
    COVERAGE = "CITE-COVERAGE"
    SUPPORT = "CITE-SUPPORT"
    TEXT = "CITE-TEXT"
    UNREAD = "CITE-UNREAD"
    LATE = "CITE-LATE"
    SUMMARY = "CITE-SUMMARY"
    NOFILE = "CITE-NOFILE"
    NOSYMBOL = "CITE-NOSYMBOL"
    NOISSUE = "CITE-NOISSUE"
    NOPACKAGE = "CITE-NOPACKAGE"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: its code, its place, a sentence."""

    code: CitationCode
    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class CitationCodeInfo:
    """What a finding is called in a few words, what it means, and what to do about it."""

    name: str
    meaning: str
    remedy: str


CODES: Mapping[CitationCode, CitationCodeInfo] = MappingProxyType(
    {
        CitationCode.NONE: CitationCodeInfo(
            "no citation at all",
            "The report cites nothing: it has no marker, and no link or address in its text.",
            "cite what the report rests on; the audit never adds a citation",
        ),
        CitationCode.UNKNOWN: CitationCodeInfo(
            "marker without source",
            "A marker names a source that the report does not list.",
            "list the source, or take the marker out",
        ),
        CitationCode.UNUSED: CitationCodeInfo(
            "source never cited",
            "A source is listed in the report, and nothing in its text points to it.",
            "cite the source where it is used, or take it off the list",
        ),
        CitationCode.GAP: CitationCodeInfo(
            "numbers not contiguous",
            "The numbers of the list do not run from 1 without gaps. Ids (S1, S7) may have gaps.",
            "number the list anew; 'custody cite convert --to sources' does it",
        ),
        CitationCode.ORDER: CitationCodeInfo(
            "numbers not in order of first use",
            "A source is used for the first time after one with a higher number. Ids may stand in any order.",
            "number the list anew; 'custody cite convert --to sources' does it",
        ),
        CitationCode.TWICE: CitationCodeInfo(
            "one source under two numbers",
            "Two entries of the list have the same address, or neither has one and they have the same title.",
            "keep one of the entries and point its markers there",
        ),
        CitationCode.CLASH: CitationCodeInfo(
            "one number for two sources",
            "Two entries of the list have the same number or id: a marker could mean either.",
            "give each source a number of its own",
        ),
        CitationCode.DOMAIN: CitationCodeInfo(
            "bare domain",
            "A source is a whole site: its address has no path, or is only the name of a domain.",
            "name the page that was read",
        ),
        CitationCode.SCHEME: CitationCodeInfo(
            "address that is no source",
            "An address begins with javascript:, data:, vbscript:, file:, blob: or about:, and leads to no page.",
            "name the page that was read",
        ),
        CitationCode.EMPTY: CitationCodeInfo(
            "source without title and address",
            "An entry of the list says nothing of its source.",
            "give the source a title or an address",
        ),
        CitationCode.LIST: CitationCodeInfo(
            "list does not render",
            "Entries run together in one paragraph, stand in code, or are link definitions, which show nothing.",
            "put each entry into a line of a Markdown list; 'custody cite convert' does it",
        ),
        CitationCode.RANGE: CitationCodeInfo(
            "range backwards",
            "A range of sources ends before it begins, such as [S3-S1]. It is read the other way round.",
            "write the lower number first",
        ),
        CitationCode.CIRCLE: CitationCodeInfo(
            "footnote circle",
            "A footnote refers to itself, directly or through others. Some renderers never end on it.",
            "take one of the references out",
        ),
        CitationCode.COVERAGE: CitationCodeInfo(
            "coverage below minimum",
            "Fewer of the sentences that carry evidence have a citation than `cite.coverage_min` asks for.",
            "cite the sentences at the places that the report names",
        ),
        CitationCode.SUPPORT: CitationCodeInfo(
            "source does not speak of it",
            "The text of the cited source, where it is known, hardly has the words of the statement.",
            "cite the source that says it, or change the statement",
        ),
        CitationCode.TEXT: CitationCodeInfo(
            "not a text",
            "A byte of the file is no UTF-8, or a character of it is a NUL.",
            "save the file as UTF-8",
        ),
        CitationCode.UNREAD: CitationCodeInfo(
            "cited but never opened",
            "No captured call of any session brought anything of the cited page: none names it, it was only listed by a"
            " search, or every attempt failed.",
            "open the source and see whether it says so, or take the citation out",
        ),
        CitationCode.LATE: CitationCodeInfo(
            "opened after the line was written",
            "The cited page was opened for the first time after the line that cites it was written.",
            "read the line again with the source beside it",
        ),
        CitationCode.SUMMARY: CitationCodeInfo(
            "quoted from a summary",
            "A quotation is from a page of which the agent was shown only a summary that a model wrote.",
            "open the page itself and compare the words, or tell it without quotation marks",
        ),
        CitationCode.NOFILE: CitationCodeInfo(
            "no such file",
            "A path or a link names a file that is neither on disk, nor in HEAD, nor in any commit before it.",
            "name the file that is meant",
        ),
        CitationCode.NOSYMBOL: CitationCodeInfo(
            "no such name in the file",
            "A name is said to be in a file or module of the repository, which does not have that word.",
            "look the name up; it may be elsewhere or called otherwise",
        ),
        CitationCode.NOISSUE: CitationCodeInfo(
            "no such issue",
            "The tracker had no issue or pull request with this number when the line was written, as records show.",
            "look the number up",
        ),
        CitationCode.NOPACKAGE: CitationCodeInfo(
            "no such dependency",
            "The text says that a package is a dependency, and no manifest or lock file of the repository names it.",
            "name the package that is meant, or take the statement out",
        ),
    }
)
