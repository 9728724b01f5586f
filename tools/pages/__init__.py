"""The pages of ``docs/reference/``: each is a function from the source code to Markdown."""
