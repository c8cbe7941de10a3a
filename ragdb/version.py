"""The version of the package, of the schema that it makes, and of the extension."""

__version__ = "0.1.0"
