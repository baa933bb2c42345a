"""The engines that evaluate lineage queries: each spells SQL trees in its dialect and runs them."""
