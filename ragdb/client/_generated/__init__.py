"""What `make client` writes: the rows, the calls, and a method for each public SQL function."""
