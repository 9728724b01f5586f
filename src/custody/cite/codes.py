"""The table of all codes that an audit can report."""

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType

from msgspec import Struct


class CitationCode(Enum):
    """The code of a finding."""

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


class Finding(Struct, frozen=True):
    """A problem: its code, its position, and a message."""

    code: CitationCode
    line: int
    column: int
    message: str


class CitationCodeInfo(Struct, frozen=True):
    """The short name of a code, its meaning, and what to do about it."""

    name: str
    meaning: str
    remedy: str


CODES: Mapping[CitationCode, CitationCodeInfo] = MappingProxyType(
    {
        CitationCode.NONE: CitationCodeInfo(
            "no citation at all",
            "The report has no citations: no marker, no link and no URL in its text.",
            "cite the sources of the report; the audit never adds a citation",
        ),
        CitationCode.UNKNOWN: CitationCodeInfo(
            "marker without source",
            "A marker names a source that the report does not list.",
            "list the source, or remove the marker",
        ),
        CitationCode.UNUSED: CitationCodeInfo(
            "source never cited",
            "A source is listed, but nothing in the text cites it.",
            "cite the source where it is used, or remove it from the list",
        ),
        CitationCode.GAP: CitationCodeInfo(
            "numbers not contiguous",
            "The numbers of the list do not run from 1 without gaps. Ids (S1, S7) may have gaps.",
            "renumber the list with 'custody cite convert --to sources'",
        ),
        CitationCode.ORDER: CitationCodeInfo(
            "numbers not in order of first use",
            "A source is first used after a source with a higher number. Ids may be in any order.",
            "renumber the list with 'custody cite convert --to sources'",
        ),
        CitationCode.TWICE: CitationCodeInfo(
            "one source under two numbers",
            "Two entries of the list have the same URL, or the same title and no URL.",
            "keep one of the entries and change the markers of the other",
        ),
        CitationCode.CLASH: CitationCodeInfo(
            "one number for two sources",
            "Two entries of the list have the same number or id, so a marker is ambiguous.",
            "give each source a number of its own",
        ),
        CitationCode.DOMAIN: CitationCodeInfo(
            "bare domain",
            "A source is a whole site: its URL has no path, or is only a domain name.",
            "give the URL of the page that was read",
        ),
        CitationCode.SCHEME: CitationCodeInfo(
            "URL without a page",
            "A URL starts with javascript:, data:, vbscript:, file:, blob: or about:, so it is not a page.",
            "give the URL of the page that was read",
        ),
        CitationCode.EMPTY: CitationCodeInfo(
            "source without title and URL",
            "An entry of the list does not identify its source.",
            "give the source a title or a URL",
        ),
        CitationCode.LIST: CitationCodeInfo(
            "list does not render",
            "Entries run together in one paragraph, are inside code, or are link definitions, which render as nothing.",
            "make each entry an item of a Markdown list; 'custody cite convert' does this",
        ),
        CitationCode.RANGE: CitationCodeInfo(
            "range backwards",
            "A range of sources ends before it starts, such as [S3-S1]. It is read as [S1-S3].",
            "write the lower number first",
        ),
        CitationCode.CIRCLE: CitationCodeInfo(
            "footnote cycle",
            "A footnote refers to itself, directly or through others. Some renderers loop forever on it.",
            "remove one of the references",
        ),
        CitationCode.COVERAGE: CitationCodeInfo(
            "coverage below minimum",
            "The share of sentences with evidence that are cited is below `cite.coverage_min`.",
            "cite the sentences at the reported lines",
        ),
        CitationCode.SUPPORT: CitationCodeInfo(
            "source does not support the statement",
            "The stored text of the cited source has few of the statement's words.",
            "cite a source that supports the statement, or change the statement",
        ),
        CitationCode.TEXT: CitationCodeInfo(
            "not text",
            "The file contains invalid UTF-8 or a NUL character.",
            "save the file as UTF-8",
        ),
        CitationCode.UNREAD: CitationCodeInfo(
            "cited but never opened",
            "No recorded call of any session returned content of the cited page: no call names it, only a search listed"
            " it, or every attempt failed.",
            "open the source and check that it supports the statement, or remove the citation",
        ),
        CitationCode.LATE: CitationCodeInfo(
            "opened after the line was written",
            "The cited page was opened for the first time after the line that cites it was written.",
            "check the line against the source",
        ),
        CitationCode.SUMMARY: CitationCodeInfo(
            "quoted from a summary",
            "A quotation is from a page, but the agent read only a summary that a model wrote.",
            "compare the quotation with the page, or paraphrase it without quotation marks",
        ),
        CitationCode.NOFILE: CitationCodeInfo(
            "no such file",
            "A path or link names a file that exists neither on disk nor in HEAD or any commit before it.",
            "correct the path",
        ),
        CitationCode.NOSYMBOL: CitationCodeInfo(
            "no such name in the file",
            "The text says that a name is in a file or module of the repository, but the file does not contain it.",
            "look up the name; it may be in another file or have another name",
        ),
        CitationCode.NOISSUE: CitationCodeInfo(
            "no such issue",
            "Records show that the tracker had no issue or pull request with this number when the line was written.",
            "correct the number",
        ),
        CitationCode.NOPACKAGE: CitationCodeInfo(
            "no such dependency",
            "The text says that a package is a dependency, but no manifest or lock file of the repository names it.",
            "correct the package name, or remove the statement",
        ),
    }
)
