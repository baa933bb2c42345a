"""The relational IR, its expressions, and the lineage program: plain immutable data."""
