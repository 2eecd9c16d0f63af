"""Pages of studies: their sections, tables and pictures, and the program that writes them."""
