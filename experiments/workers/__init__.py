"""Worker processes that collect experience, play policies and check results."""
