"""What is generated from the database's own catalogue, so that nothing is written twice."""
