"""Files: locations and URLs, atomic writes, checksums, provenance of results."""
