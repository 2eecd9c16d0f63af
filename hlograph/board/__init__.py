"""The board: submissions of what methods did to programs of the corpus, which anyone replays."""
