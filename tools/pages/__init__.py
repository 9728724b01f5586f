"""The pages of ``docs/reference/``: each a function from the product's own source of the fact to Markdown."""
