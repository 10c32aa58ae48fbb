"""`python -m inkgate` is the `inkgate` command."""

from inkgate.cli.main import main

if __name__ == "__main__":
    main()
