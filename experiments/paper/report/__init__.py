"""Writes tables and figures of studies as Markdown: an index, and a page for each study."""
