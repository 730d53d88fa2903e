"""`python -m airoas.cli`."""

from airoas.cli import program

if __name__ == "__main__":
    program()
