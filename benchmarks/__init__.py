"""Programs that measure and compare; no other code but tests imports them."""
