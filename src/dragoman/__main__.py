"""``python -m dragoman``: the command line."""

from dragoman.cli.main import entry

if __name__ == "__main__":
    entry()
