"""Small HLO modules of every opcode in degenerate forms."""
