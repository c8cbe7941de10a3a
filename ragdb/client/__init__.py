"""The client: one method for each public SQL function, over a connection."""
