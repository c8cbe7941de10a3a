"""Models: embedders, rerankers, chat endpoints, and the worker that runs them."""
