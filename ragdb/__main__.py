"""The console script, and `python -m ragdb`."""

from ragdb.cli.ending import end_at_once


def main() -> None:
    """Run the command line, which takes longer to import than somebody may wait."""
    end_at_once()
    from ragdb.cli.main import main as run

    run()


if __name__ == "__main__":
    main()
