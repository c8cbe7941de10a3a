"""LCDL under its own names: ``forge_lcdl`` in an import is ``ragdb.adapters.forge_lcdl``."""
