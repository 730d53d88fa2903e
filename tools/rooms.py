"""Whether a stranger finds the room of a line: `python -m tools.rooms` prints the listing of src/airoas and ten of its lines.

The lines are drawn by the commit's hash, from ten files, so that nobody chooses them. Who has never seen the tree names a room for each,
from the listing alone; `--answers` prints where they stand. Nine of ten should be right.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
from pathlib import Path
from typing import NamedTuple

from tools.marks import ROOT

SOURCES = ROOT / "src" / "airoas"
LINES = 10
_FEWEST = 25  # characters of a line that says something


class Drawn(NamedTuple):
    file: Path
    """Below src/airoas."""
    number: int
    text: str

    @property
    def package(self) -> str:
        return self.file.parent.as_posix() if len(self.file.parts) > 1 else self.file.name


def head() -> str:
    return subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


def files(sources: Path = SOURCES) -> list[Path]:
    return sorted(path.relative_to(sources) for path in sources.rglob("*.py"))


def draw(commit: str, sources: Path = SOURCES, count: int = LINES) -> list[Drawn]:
    """One line of each of `count` files: those whose names come first in the order of their hashes with the commit's."""

    def order(key: object) -> str:
        return hashlib.sha256(f"{commit} {key}".encode()).hexdigest()

    drawn: list[Drawn] = []
    for file in sorted(files(sources), key=order):
        lines = [(number, line.strip()) for number, line in enumerate((sources / file).read_text(encoding="utf-8").splitlines(), 1)]
        telling = [(n, line) for n, line in lines if len(line) >= _FEWEST and not line.startswith(("import ", "from ", "#"))]
        if telling and len(drawn) < count:
            drawn.append(Drawn(file, *min(telling, key=lambda line: order((file.as_posix(), line[0])))))
    return drawn


def listing(sources: Path = SOURCES) -> str:
    """Each folder with its modules, and the experiments that lie in it as data."""
    packages: dict[str, list[str]] = {}
    for file in [*files(sources), *sorted(path.relative_to(sources) for path in sources.rglob("*.toml"))]:
        if file.name != "__init__.py":
            packages.setdefault(file.parent.as_posix(), []).append(file.stem if file.suffix == ".py" else file.name)
    return "\n".join(f"{'airoas' if package == '.' else package}: {', '.join(modules)}" for package, modules in packages.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commit", help="the hash to draw by (default: that of HEAD)")
    parser.add_argument("--answers", action="store_true", help="say where the lines stand")
    options = parser.parse_args()
    commit = options.commit or head()
    if not options.answers:
        print(f"{listing()}\n")
    for number, line in enumerate(draw(commit), 1):
        print(f"{number:2}. {line.file.as_posix()}, line {line.number}" if options.answers else f"{number:2}. {line.text}")


if __name__ == "__main__":
    main()
