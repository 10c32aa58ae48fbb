"""Lines as text: paragraphs, headings, lists, footnotes, Markdown."""
