"""Parts of the catalogue, which finds them by itself."""
