"""The engines that evaluate lineage queries; each turns SQL trees into its dialect and runs them."""
