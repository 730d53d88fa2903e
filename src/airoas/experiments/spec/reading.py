"""Experiments in TOML: domains, planners with their options, budgets, episodes, seeds and filter.

docs/experiments.md describes the file. Whatever cannot run is refused here, before anything runs.
"""

from __future__ import annotations

import itertools
import json
import math
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

from airoas.catalog import EPISODES_PER_MAP, FAMILIES
from airoas.errors import OptionError, suggest
from airoas.experiments.rows.store import SPEC, read_spec
from airoas.experiments.spec.cells import Cell, Domain, Part, Spec, is_file
from airoas.experiments.spec.fit import check_fit

SHIPPED = {"paper": "airoas.paper", "sweep": "airoas.paper", "ablation": "airoas.paper", "literature": "airoas.experiments"}
"""Experiments by name, and the package that holds the file."""
COUNTS = {"episodes", "maps"}
SETTINGS = ("episodes", "maps", "seed", "filter", "particles", "max_steps")
PART = (*SETTINGS, "name", "domains", "planners", "vary", "compare", "choose", "quick")
TOP = (*PART, "title", "note", "parts", "reference", "scale", "only", "folder")
DOMAIN = (*SETTINGS, "label", "note", "upper_bound")
PLANNER = ("planner", "on", "vary")
SCALED = ("episodes", "seconds", "iterations")
QUICK = {"episodes": 0.1, "seconds": 0.1, "iterations": 0.1}


def read(name: str, scale: str = "", only: str = "") -> Spec:
    """The experiment behind a shipped name or a file, made smaller where `scale` says so, or `only` some of its parts."""
    if name in SHIPPED:
        return parse(shipped(name), f"{name}.toml", scale=scale, only=only)
    path = Path(name)
    if path.suffix != ".toml":
        remedy = f"{suggest(name, SHIPPED)}Name one of {', '.join(SHIPPED)}, or a file of yours that ends in .toml."
        raise OptionError(f"there is no experiment {name!r}", remedy)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"{path} cannot be read ({getattr(error, 'strerror', None) or 'not text'})", "check the path.") from None
    return parse(text, name, scale=scale, only=only, folder=path.resolve().parent)


def shipped(name: str) -> str:
    """The text of a shipped experiment."""
    return (resources.files(SHIPPED[name]) / f"{name}.toml").read_text(encoding="utf-8")


def parse(text: str, source: str = "", scale: str = "", folder: Path | None = None, check: bool = True, only: str = "") -> Spec:
    """The experiment that a text describes; `source` is its name in messages. Without `check` it need not be able to run."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise OptionError(f"{source} is no TOML: {error}", "mend that line.") from None
    heads = {"scale": scale, "only": only, "folder": str(folder) if folder else ""}
    added = [key for key, value in heads.items() if value and key not in data]
    for key in ("scale", "only"):
        if heads[key] and key in data:
            raise OptionError(f"{source} has its own `{key}`", f"leave --{key} out.")
    reader = _Reader(source)
    reader.only(data, TOP, "")
    data = {**data, **{key: value for key, value in heads.items() if value}}
    parts = data.get("parts", [{}])
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise reader.error("parts is no list of tables", "write [[parts]] above each.", "")
    start = Path(reader.text(data, "folder", "") or ".")
    scale = str(data.get("scale", ""))
    domains: dict[str, Domain] = {}
    found = []
    for number, part in enumerate(parts):
        place = f"parts[{number}]" if "parts" in data else ""
        reader.only(part, PART, place)
        table = {**{key: data[key] for key in PART if key in data}, **part}
        about = data["domains"] if isinstance(data.get("domains"), dict) else {}
        found.append(_part(reader, table, place, _factors(reader, scale, table.get("quick", {})), domains, about))
    for number, part in enumerate([data, *parts]):
        for name, planner in part.get("planners", {}).items():
            reader.only(planner.get("on", {}), domains, f"{f'parts[{number - 1}], ' if number else ''}planners.{name}.on")
    found = _chosen(reader, found, reader.text(data, "only", ""))
    names = [cell.planner for part in found for cell in part.cells]
    title, reference = _reference(reader, data, domains)
    named = {name for part in found for cell in part.cells for name in (cell.domain, cell.kind)}
    if not any(map(is_file, named)):  # a folder that nothing is read from is nobody's business
        added = [key for key in added if key != "folder"]
    text = "".join(f"{key} = {json.dumps(heads[key])}\n" for key in added) + text
    spec = Spec(
        reader.text(data, "title", names[0] if len(set(names)) == 1 else ""),
        reader.text(data, "note", ""),
        scale,
        start,
        tuple(found),
        domains,
        reference,
        title,
        text,
    )
    if check:
        check_fit(spec, source)
    return spec


def of_folder(folder: Path) -> Spec:
    """The experiment of a folder of results; its models need not be there any more."""
    return parse(read_spec(folder), str(folder / SPEC), check=False)


class _Reader:
    """Takes values out of tables, and says where a wrong one stands."""

    def __init__(self, source: str) -> None:
        self.source = source

    def error(self, problem: str, remedy: str, place: str) -> OptionError:
        return OptionError(problem, remedy, where=", ".join(filter(None, (self.source, place))))

    def only(self, table: Any, known: Any, place: str) -> None:
        if not isinstance(table, dict):
            raise self.error(f"{table!r} stands where a table belongs", "write name = value pairs there.", place)
        for key in table:
            if key not in known:
                raise self.error(f"there is no key {key!r}", f"{suggest(key, known)}The keys here are {', '.join(sorted(known))}.", place)

    def whole(self, table: dict[str, Any], key: str, default: Any, least: int, place: str) -> Any:
        value = table.get(key, default)
        if value is not default and (type(value) is not int or not least <= value < 1 << 53):
            raise self.error(f"{key} is {value!r}", f"give a whole number from {least} on.", place)
        return value

    def text(self, table: dict[str, Any], key: str, default: str, place: str = "") -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            raise self.error(f"{key} is {value!r}", "give text in quotes.", place)
        return value

    def axes(self, table: dict[str, Any], known: Any, place: str) -> list[dict[str, Any]]:
        """Every combination of the values that `vary` lists."""
        vary = table.get("vary", {})
        self.only(vary, known if known is not None else vary, f"{place}.vary".lstrip("."))
        for name, values in vary.items():
            if not isinstance(values, list) or not values:
                raise self.error(f"vary.{name} is {values!r}", "give a list of the values to try.", place)
        return [dict(zip(vary, values, strict=True)) for values in itertools.product(*vary.values())]


def _chosen(reader: _Reader, parts: list[Part], only: str) -> list[Part]:
    """The parts whose name begins so."""
    chosen = [part for part in parts if part.name.startswith(only)]
    if not chosen:
        names = [part.name for part in parts if part.name]
        raise reader.error(f"no part's name begins with {only!r}", f"{suggest(only, names)}The parts are {', '.join(names)}.", "")
    return chosen


def _factors(reader: _Reader, scale: str, quick: Any) -> dict[str, float]:
    """By what to multiply episodes and budgets."""
    reader.only(quick, SCALED, "quick")
    for key, value in quick.items():
        if not isinstance(value, (int, float)) or not 0.0 < value <= 1.0:
            raise reader.error(f"{key} is {value!r}", "give a factor above 0 and at most 1.", "quick")
    if not scale:
        return dict.fromkeys(SCALED, 1.0)
    if scale == "quick":
        return {**QUICK, **quick}
    pairs = [item.partition("=") for item in scale.split(",")] if "=" in scale else [(key, "=", scale) for key in SCALED]
    try:
        factors = {key: float(value) for key, _, value in pairs}
    except ValueError:
        factors = {}
    smaller = any(factor < 1.0 for factor in factors.values()) and all(0.0 < factor <= 1.0 for factor in factors.values())
    if not smaller or not factors.keys() <= set(SCALED):
        remedy = "write `quick`, a factor above 0 and below 1, or a factor for each: episodes=0.1,seconds=0.02,iterations=1."
        raise OptionError(f"--scale {scale}", remedy)
    return dict.fromkeys(SCALED, 1.0) | factors


def _part(
    reader: _Reader, table: dict[str, Any], place: str, factors: dict[str, float], domains: dict[str, Domain], about: dict[str, Any]
) -> Part:
    """`about`: what the file says above its parts of each domain; how it is called and bounded holds in all of them."""
    wanted = table.get("domains")
    if isinstance(wanted, list) and all(isinstance(name, str) for name in wanted):
        wanted = {name: {} for name in wanted}
    planners = table.get("planners")
    for key, value, example in (("domains", wanted, 'domains = ["tiger"]'), ("planners", planners, "[planners.random]")):
        if not isinstance(value, dict) or not value:
            raise reader.error(f"no {key} are named", f"write {example}, for instance.", place)
    assert isinstance(wanted, dict)
    assert isinstance(planners, dict)
    cells: list[Cell] = []
    for outer in reader.axes(table, ("filter", "particles"), place):
        for name, own in wanted.items():
            where = f"domains.{name}"
            reader.only(own, DOMAIN, where)
            inherited = {key: table[key] for key in SETTINGS if key in table and not (key in COUNTS and own.keys() & COUNTS)}
            run = _settings(reader, name, inherited | own | outer, where, factors["episodes"])
            before = domains.get(name, Domain(Path(name).name, "", None))  # what one part says of a domain holds in all
            for said in (about.get(name, {}), own):
                reader.only(said, DOMAIN, where)
                bound = said.get("upper_bound", before.upper_bound)
                if bound is not None and not isinstance(bound, (int, float)):
                    raise reader.error(f"upper_bound is {bound!r}", "give a number.", where)
                before = Domain(reader.text(said, "label", before.label, where), reader.text(said, "note", before.note, where), bound)
            domains[name] = before
            for planner, options in planners.items():
                cells += _cells(reader, name, planner, options, run, outer, factors)
    labels = [(cell.domain, cell.label) for cell in cells]
    for label in labels:
        if labels.count(label) > 1:
            raise reader.error(f"{label[1]} on {label[0]} stands twice", "vary each value once; after --scale two may be equal.", place)
    compare = table.get("compare", "all")
    compare = tuple(compare) if isinstance(compare, list) else (compare,)
    known = {"all", *planners, *(axis for cell in cells for axis in cell.axes)}
    for name in compare:
        if name not in known:
            raise reader.error(f"compare is {name!r}", f"{suggest(str(name), known)}It is one of {', '.join(sorted(known))}.", place)
    if not isinstance(table.get("choose", False), bool):
        raise reader.error(f"choose is {table['choose']!r}", "write true or false.", place)
    return Part(reader.text(table, "name", "", place), tuple(cells), compare, table.get("choose", False))


def _settings(reader: _Reader, domain: str, table: dict[str, Any], place: str, factor: float) -> dict[str, Any]:
    """The settings of a run on one domain, with its seeds."""
    if table.keys() >= COUNTS:
        raise reader.error("both episodes and maps are given", f"give one; a map is {EPISODES_PER_MAP} episodes.", place)
    maps = reader.whole(table, "maps", None, 1, place)
    if maps is not None and domain not in FAMILIES:
        remedy = f"give episodes instead; maps are drawn for {', '.join(FAMILIES)}."
        raise reader.error(f"{domain} has one map", remedy, place)
    first = reader.whole(table, "seed", 0, 0, place)
    episodes = reader.whole(table, "episodes", 100, 1, place) if maps is None else EPISODES_PER_MAP * maps
    wanted = episodes if factor == 1.0 else min(episodes, max(2, math.ceil(factor * episodes)))
    # In a family as many maps as there are, before any map is used twice: fewer episodes then say as much about maps as they can.
    many, each = (math.ceil(episodes / EPISODES_PER_MAP), EPISODES_PER_MAP) if domain in FAMILIES else (episodes, 1)
    return {
        "filter": reader.text(table, "filter", "auto", place),
        "particles": reader.whole(table, "particles", 10_000, 1, place),
        "max_steps": reader.whole(table, "max_steps", None, 1, place),
        "seeds": tuple(sorted(first + each * (i % many) + i // many for i in range(wanted))),
    }


def _cells(
    reader: _Reader,
    domain: str,
    name: str,
    table: Any,
    run: dict[str, Any],
    outer: dict[str, Any],
    factors: dict[str, float],
) -> list[Cell]:
    place = f"planners.{name}"
    reader.only(table, table if isinstance(table, dict) else (), place)
    own = table.get("on", {})
    reader.only(own, own, f"{place}.on")
    here = own.get(domain, {})
    reader.only(here, here, f"{place}.on.{domain}")
    kind = reader.text(table, "planner", name, place)
    fixed = {key: value for key, value in table.items() if key not in PLANNER} | here
    cells = []
    for inner in reader.axes(table, None, place):
        options = {key: _scaled(reader, key, value, factors, place) for key, value in (fixed | inner).items()}
        axes = {key: options[key] for key in inner} | {("filter_particles" if key == "particles" else key): outer[key] for key in outer}
        cells.append(Cell(domain, name, kind, options, axes, **run))
    return cells


def _scaled(reader: _Reader, key: str, value: Any, factors: dict[str, float], place: str) -> Any:
    for number in value if isinstance(value, list) else [value]:
        if isinstance(number, float) and not math.isfinite(number):
            raise reader.error(f"{key} is {number}", "give finite numbers.", place)
    if key not in ("seconds", "iterations") or type(value) not in (int, float) or factors[key] == 1.0:
        return value
    return factors[key] * value if key == "seconds" else max(1, math.ceil(factors[key] * value))


def _reference(reader: _Reader, data: dict[str, Any], domains: dict[str, Domain]) -> tuple[str, dict[str, Any]]:
    table = data.get("reference", {})
    reader.only(table, ("title", "figures"), "reference")
    figures = table.get("figures", {})
    reader.only(figures, domains, "reference.figures")
    found: dict[str, Any] = {}
    for domain, own in figures.items():
        reader.only(own, own, f"reference.figures.{domain}")
        for name, pair in own.items():
            if not isinstance(pair, list) or not 1 <= len(pair) <= 2 or not all(isinstance(x, (int, float)) for x in pair):
                raise reader.error(f"{name} is {pair!r}", "give [mean] or [mean, standard error].", f"reference.figures.{domain}")
            found.setdefault(domain, {})[name] = (float(pair[0]), float(pair[1]) if len(pair) == 2 else None)
    return reader.text(table, "title", "reference"), found
