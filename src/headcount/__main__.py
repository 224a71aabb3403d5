"""``python -m headcount``: the program, where the shell does not find it by its name."""

from headcount.cli.main import run

if __name__ == "__main__":
    run()
