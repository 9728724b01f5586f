"""Facts of a file: its channel, symbols, exports and imports, the intent of its tests, the structure of its documents.

Pure: it may import ``core``, tree-sitter with its grammars, and the standard library's value tools. A grammar is
imported with the first file of its language. Functions take a path and bytes and return values; none opens a file.
"""
