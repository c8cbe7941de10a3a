"""Evidence: retrievers, packs of evidence, and the engine that answers from them."""
