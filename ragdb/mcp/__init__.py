"""The tools of contracts, served over the Model Context Protocol."""
