"""What a browser may do with our pages: load our own files, run no inline script, send forms to us alone."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

IN_FILES = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file: data:; base-uri 'none'"
)
"""The same for pages that are files: a browser that opens them has no server to ask."""
