"""How much is read of one file where nobody says otherwise; the command line shows it."""

MAX_BYTES = 64 * 2**20
