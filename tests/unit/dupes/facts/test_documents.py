"""The structure of documents."""

import pytest

from custody.core.paths import Lines
from custody.dupes.facts.extractor import extract_file_facts
from custody.dupes.facts.model import DocumentHeading, FactLimits, FencedCode, Reference, Structure


def headings(structure: Structure) -> list[str]:
    return [f"{one.level} {one.text} {one.lines}" for one in structure.headings]


MARKDOWN = b"""\
# Guide #

Some text, see #12 and django/django#34.
Setext one
==========
Setext two
---
> quoted
---

- item
---

## Use `it` ##
```ts title="a.ts"
# no heading, no reference #99
const a = 1;
```
   ### Indented
    # code by indent
####### seven
#hashtag
~~~~ PYTHON
print("x")
~~~
still code
~~~~
1. a list
   ```sh
   npm i
   ```
Full: https://github.com/pallets/flask/pull/5678#issuecomment-1 and https://github.com/a/b/issues/9.
Not: a#1 b, &#39; color #fff, v1.2#3x
```
open to the end
"""


# Conformance: 002-033
def test_a_markdown_document() -> None:
    structure = extract_file_facts("docs/guide.md", MARKDOWN).structure
    assert headings(structure) == [
        "1 Guide 1",
        "1 Setext one 4-5",
        "2 Setext two 6-7",
        "2 Use `it` 14",
        "3 Indented 19",
    ]
    assert structure.blocks == (
        FencedCode(
            "ts", ("#", "no", "heading", ",", "no", "reference", "#", "99", "const", "a", "=", "1", ";"), Lines(15, 18)
        ),
        FencedCode("python", ("print", "(", '"', "x", '"', ")", "~", "~", "~", "still", "code"), Lines(23, 27)),
        FencedCode("sh", ("npm", "i"), Lines(29, 31)),
        FencedCode("", ("open", "to", "the", "end"), Lines(34, 36)),
    )
    assert [f"{one.name} {one.lines}" for one in structure.references] == [
        *("#12 3", "django/django#34 3", "pallets/flask#5678 32", "a/b#9 32"),
    ]


RESTRUCTURED = b"""\
=====
Title
=====

Section
=======

Text, :issue:`12`, see #34.

Deeper
------
Literal::

    x = 1
    y = 2

.. code-block:: Python
   :linenos:

   import os
   os.getcwd()

Other section
=============
.. note:: no code

+---+
| a |
+---+
"""


def test_a_restructured_document() -> None:
    structure = extract_file_facts("docs/a.rst", RESTRUCTURED).structure
    assert headings(structure) == ["1 Title 1-3", "2 Section 5-6", "3 Deeper 10-11", "2 Other section 23-24"]
    assert structure.blocks == (
        FencedCode("", ("x", "=", "1", "y", "=", "2"), Lines(12, 15)),
        FencedCode("python", ("import", "os", "os", ".", "getcwd", "(", ")"), Lines(17, 21)),
    )
    assert structure.references == (Reference("#12", Lines(8, 8)), Reference("#34", Lines(8, 8)))


def test_a_text_is_read_as_restructured() -> None:
    assert extract_file_facts("docs/intro.txt", b"Title\n=====\n").structure.headings == (
        DocumentHeading(1, "Title", Lines(1, 2)),
    )


@pytest.mark.parametrize("path", ["a.md", "a.rst"])
def test_line_ends_and_byte_order_marks_are_ignored(path: str) -> None:
    content = MARKDOWN if path == "a.md" else RESTRUCTURED
    assert extract_file_facts(path, b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")) == extract_file_facts(
        path, content
    )


# Conformance: 002-033
def test_only_the_first_tokens_of_a_block_count() -> None:
    found = extract_file_facts("a.md", b"```\n" + b"a b c\n" * 99 + b"```\n", FactLimits(block_tokens_max=4))
    assert found.structure.blocks == (FencedCode("", ("a", "b", "c", "a"), Lines(1, 101)),)
