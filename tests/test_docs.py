"""The documentation tells the truth: every snippet runs and prints what is shown, every command and name exists, the site builds.

`python tests/test_docs.py` writes what the snippets print now into the pages.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import airoas
from airoas import bounds, cli, domains, interop, planners
from airoas.bounds.find import LOWER, NAMED, UPPER
from airoas.modelling.interface import HOOKS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted((*DOCS.glob("*.md"), *DOCS.glob("internals/*.md")))
}
REFERENCE = "".join(path.read_text(encoding="utf-8") for path in sorted((DOCS / "reference").glob("*.md")))
BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^(?:\$ | {4})airoas (.*)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)
ELSEWHERE = {"interop.md", "experiments.md"}  # tests/interop and tests/experiments see to them
UNRUN = ELSEWHERE | {"protocol.md"}  # their commands take days, or files that are not there: only whether they can be read is tested


def blocks(text: str) -> Iterator[tuple[int, str, str]]:
    """Where a fenced block begins, its language, its content."""
    for result in BLOCK.finditer(text):
        yield result.start(2), result[1], result[2]


def run_python(page: str, text: str, folder: Path) -> Iterator[tuple[int, str]]:
    """Run a page's Python blocks in order as one module; where each begins, and what it printed."""
    module = types.ModuleType("docs_" + re.sub("[-/]", "_", page.removesuffix(".md")))
    sys.modules[module.__name__] = module
    file = folder / f"{module.__name__}.py"
    for start, language, code in blocks(text):
        if language == "python":
            source = "\n" * text.count("\n", 0, start) + code  # so that an error names the page's line
            file.write_text(source, encoding="utf-8")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(source, str(file), "exec"), module.__dict__)
            yield start, printed.getvalue()


def shown_after(text: str, start: int) -> tuple[int, int] | None:
    """The span of the `text` block that follows the block that begins at `start` with nothing but blank lines between."""
    end = text.index("\n```\n", start) + 5 if "\n```\n" in text[start:] else len(text)
    following = BLOCK.match(text, re.compile(r"\s*").match(text, end).end())
    return following.span(2) if following and following[1] == "text" else None


@contextlib.contextmanager
def newcomer(folder: Path) -> Iterator[Path]:
    """In a folder with the examples; what running them leaves in this process is undone."""
    shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
    directory, path, modules = Path.cwd(), list(sys.path), set(sys.modules)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        yield folder
    finally:
        os.chdir(directory)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if name.startswith("docs_") or str(folder) in str(getattr(sys.modules[name], "__file__", "")):
                del sys.modules[name]


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if "```python" in text and page not in ELSEWHERE])
def test_python_runs_and_prints_what_is_shown(page, tmp_path):
    text = PAGES[page]
    with newcomer(tmp_path) as folder:
        for start, printed in run_python(page, text, folder):
            span = shown_after(text, start)
            assert printed == (text[slice(*span)] if span else ""), f"{page}, line {text.count(chr(10), 0, start)}"


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if COMMAND.search(text) and page not in UNRUN])
def test_commands_run_and_print_what_is_shown(page, tmp_path, capfd):
    with newcomer(tmp_path):
        for command, shown in COMMAND.findall(PAGES[page]):
            assert cli.main(shlex.split(command)) == 0, capfd.readouterr().err
            printed = capfd.readouterr().out
            if shown.strip():
                assert rows(printed) == rows(shown)


def rows(text: str) -> list[str]:
    """The words of each line without table borders; times differ from run to run and are left out."""
    words = [" ".join(re.sub("[\u2500-\u257f]", " ", line).split()) for line in text.splitlines()]
    return [line for line in words if line and not line.startswith("time per")]


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if COMMAND.search(text) and page in UNRUN])
def test_commands_that_are_not_run_can_be_read(page, monkeypatch):
    monkeypatch.setattr(cli, "_obey", lambda options: 0)
    for command, _ in COMMAND.findall(PAGES[page]):
        assert cli.main([word for word in shlex.split(command, comments=True) if word != "\\"]) == 0


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_sentences_exist(page, capsys):
    for words in re.findall(r"`airoas ((?:[a-z]+)(?: [^`\n]*)?)`", PAGES[page]):
        command = words.split()[0]
        with pytest.raises(SystemExit) as stop:
            cli.main([command, "--help"])
        assert stop.value.code == 0, f"{page}: airoas {command}"
        assert set(re.findall(r"--[a-z][a-z-]*", words)) <= set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out)), words


def test_every_hook_is_documented():
    table = dict(re.findall(r"^\| `(\w+)\((.*?)\)` \|", PAGES["models.md"], re.MULTILINE))
    assert {name: ", ".join(hook.parameters) for name, hook in HOOKS.items()} == table


def test_every_option_of_a_planner_is_documented():
    named = {name: set(re.findall(r"^\| `(\w+)`", part, re.MULTILINE)) for name, part in sections(PAGES["planners.md"]).items()}
    shared = named["Options that planners share"]
    for name in planners.__all__:
        kind = getattr(planners, name)
        if name in named:
            options = {option.name for option in dataclasses.fields(kind)}
            assert options <= named[name] | shared, name
            assert named[name] <= options, name
    assert {"AIROAS", "AdaOPS", "ARDESPOT", "POMCP", "POMCPOW", "QMDP"} <= named.keys()


def sections(text: str) -> dict[str, str]:
    parts = re.split(r"^##+ (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_bound_is_documented():
    for name in (*LOWER, *UPPER, *NAMED):
        assert f"`{name}`" in PAGES["bounds.md"] or f'`"{name}"`' in PAGES["bounds.md"], name


def test_every_public_name_is_in_the_reference():
    named = set(re.findall(r"^::: (\S+)", REFERENCE, re.MULTILINE))
    for package in (airoas, planners, domains, bounds, interop):
        assert {f"{package.__name__}.{name}" for name in package.__all__} <= named
    for name in named:
        home, _, last = name.rpartition(".")
        assert hasattr(importlib.import_module(home), last), name


def test_every_parameter_of_a_domain_is_in_the_reference():
    documented = dict(re.findall(r"^::: airoas\.domains\.(\w+)\n    options: .*members: \[(.*)\]", REFERENCE, re.MULTILINE))
    assert documented == {name: ", ".join(getattr(domains, name)._fields) for name in domains.__all__}


def test_the_model_is_the_one_in_examples():
    model = next(code for _, language, code in blocks(PAGES["models.md"]) if language == "python")
    assert model == (ROOT / "examples" / "my_model.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["kalman.py", "factored.py"])
def test_the_filters_are_those_in_examples(name):
    source = (ROOT / "examples" / name).read_text(encoding="utf-8").split("\n\n", 1)[1]  # but for what it is
    assert any(code == source for _, language, code in blocks(PAGES["filters.md"]) if language == "python")


REFERENCES = re.findall(r"^\| [^|]+ \| `([^`|]+)` \| (?:Del )?([\w-]+)[^|]*(\d{4}) \|$", PAGES["references.md"], re.MULTILINE)
"""Where it stands, first author, year."""
CITED = re.compile(r"([A-Z][\w-]+)(?:(?:, [A-Z][\w-]+)* and [A-Z][\w-]+| et al\.)?,? \(?((?:19|20)\d\d)\b")
"""The same in a text: Auer, Cesa-Bianchi and Fischer (2002); Wu et al., 2021; Neal (2001)."""


def test_every_method_names_its_source_where_it_stands_and_references_have_them_all():
    assert len(REFERENCES) == PAGES["references.md"].count("\n| ") - PAGES["references.md"].count("\n|---") > 40
    for home, first, year in REFERENCES:
        path = ROOT / home if home.startswith("docs/") else ROOT / "src" / "airoas" / home
        assert (first, year) in citations(path), home
    known = {(first, year) for _, first, year in REFERENCES}
    for path in sorted((ROOT / "src").rglob("*.py")):
        assert citations(path) <= known, path


def citations(path):
    return set(CITED.findall(" ".join(path.read_text(encoding="utf-8").split())))


def test_nothing_cites_a_document_that_is_not_here():
    named = re.compile(r"[\w./-]+\.md\b|the specification\b|design document")
    documents = {path.name for path in (*ROOT.glob("*.md"), *DOCS.rglob("*.md"))}
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "src").rglob("*.toml")]):
        if path != Path(__file__):
            cited = {name.rpartition("/")[2] for name in named.findall(path.read_text(encoding="utf-8"))}
            assert cited <= documents, path


def test_extras_are_named():
    with open(ROOT / "pyproject.toml", "rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    assert set(re.findall(r"^\| `(\w+)` \|", PAGES["index.md"], re.MULTILINE)) == set(extras)


def test_the_site_builds_without_warnings(tmp_path):
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0 and "WARNING" not in built.stderr, built.stderr
    for page in PAGES:
        name = page.removesuffix(".md")
        assert (tmp_path / "site" / ("index.html" if name == "index" else f"{name}/index.html")).is_file(), page
    outside = [
        (file.name, link)
        for file in (tmp_path / "site").rglob("*.html")
        for link in re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"(https?://[^\"]+)", file.read_text(encoding="utf-8"))
    ]
    assert not outside  # the site works without a network


def fill(folder: Path) -> None:
    """Write what the snippets print into the pages."""
    for page, text in PAGES.items():
        if "```python" not in text or page in ELSEWHERE:
            continue
        with newcomer(folder):
            results = list(run_python(page, text, folder))
        for start, printed in reversed(results):
            span = shown_after(text, start)
            if span:
                text = text[: span[0]] + printed + text[span[1] :]
            elif printed:
                print(f"{page}: a snippet prints what is not shown:\n{printed}")
        (DOCS / page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        fill(Path(temporary))
