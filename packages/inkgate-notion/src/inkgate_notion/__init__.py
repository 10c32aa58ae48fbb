"""Documents as rows of a Notion database: the file, its fields in typed columns, and its text as the page's blocks.

`documents` says what goes into a row, `cells` and `blocks` how Notion has it, `columns` looks after the database's
columns, `rows` writes a row so that the same document has one, and `calls` talks to Notion within its limits.
"""
