"""`python -m guerdon`: the command line, whatever the shell finds under its name."""

from guerdon.cli import main

if __name__ == "__main__":
    main()
