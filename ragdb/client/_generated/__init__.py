"""What `make client` writes. Do not edit."""
