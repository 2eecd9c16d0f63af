"""Small graph encoders of every kind that the settings can name."""

from dataclasses import replace

from models.config import GATConfig

SMALL = GATConfig(layers=2, heads=2, head_width=8, edge_width=8, counted_kinds=8)

VARIANTS = {
    "gatv2": SMALL,
    "gatv2 without a kernel": replace(SMALL, head_width=12),
    "gat": replace(SMALL, layer="gat"),
    "sage": replace(SMALL, layer="sage"),
    "gin": replace(SMALL, layer="gin"),
    "no edges": replace(SMALL, edges=False),
    "no reverse edges": replace(SMALL, reverse_edges=False),
    "gin, no reverse edges": replace(SMALL, layer="gin", reverse_edges=False),
    "no operand positions": replace(SMALL, operand_positions=False),
    "no attributes": replace(SMALL, attributes=False),
    "no neighbour features": replace(SMALL, neighbour_features=False),
    "nothing but opcodes": replace(SMALL, layers=0, attributes=False),
    "depth 0": replace(SMALL, layers=0),
    "depth 1": replace(SMALL, layers=1),
    "depth 6": replace(SMALL, layers=6),
}
