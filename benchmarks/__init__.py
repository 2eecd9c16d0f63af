"""Programs that measure and compare; nothing imports them."""
