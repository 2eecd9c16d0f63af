"""Training of one policy or several, from the command line to the final table."""
