"""Parsing a commit object as git stores it. Pure: bytes in, a commit out."""

import re

from custody.core.ids import CommitSha
from custody.git.chunk_reader import commit_sha, object_id, rubbish
from custody.git.commit_log import Commit
from custody.git.person import Person, moment

_PERSON = re.compile(rb"(.*?) ?<(.*?)>(?: (-?\d{1,20} [+-]\d{1,12}))?.*", re.DOTALL)


def parse_commit(commit: CommitSha, content: bytes) -> Commit:
    """The commit that an object's content describes; its message as it is written, whatever its encoding."""
    head, _, message = content.partition(b"\n\n")
    fields: dict[bytes, list[bytes]] = {}
    for line in head.split(b"\n"):
        name, _, value = line.partition(b" ")
        fields.setdefault(name, []).append(value)
    if b"tree" not in fields:
        raise rubbish("a commit is expected", content[:100])
    return Commit(
        id=commit,
        parents=tuple(commit_sha(parent) for parent in fields.get(b"parent", ())),
        tree=object_id(fields[b"tree"][0]),
        author=_person(fields.get(b"author", [b""])[0]),
        committer=_person(fields.get(b"committer", [b""])[0]),
        message=message,
    )


def _person(line: bytes) -> Person:
    match = _PERSON.fullmatch(line)
    if match is None:
        return Person(line, b"", None)
    return Person(match[1], match[2], moment(match[3]) if match[3] else None)
