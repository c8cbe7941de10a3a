"""Contracts: their language, and what a contract's sources name."""
