"""Pages of results: studies, races and trainings, read from their files."""
