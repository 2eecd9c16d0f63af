"""Files: locations and URLs, atomic writes, checksums."""
