"""What a file says about itself: its channel, its symbols, exports and imports, what its tests and documents are about.

Pure: it may import ``core``, tree-sitter with its grammars, and the standard library's value tools. A grammar
is imported when the first file of its language is read, so nobody pays who never parses. Functions take a path and
bytes and give values; none opens a file.
"""
