"""Tables and pictures of studies: one page of HTML, and the same as Markdown with PNGs."""
