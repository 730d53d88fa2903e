"""`python -m tools.results_page`, from the root of the repository."""

from tools.marks import ROOT
from tools.results_page.page import fill_page, fill_readme

if __name__ == "__main__":
    fill_page(ROOT / "results", ROOT / "docs" / "results.md")
    fill_readme(ROOT / "results", ROOT / "README.md")
