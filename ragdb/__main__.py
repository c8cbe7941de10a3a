"""`python -m ragdb` is `ragdb`."""

from ragdb.cli.main import main

if __name__ == "__main__":
    main()
