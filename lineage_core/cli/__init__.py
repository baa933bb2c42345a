"""The command `row-lineage`: the public API of `lineage_core`, from a shell."""
