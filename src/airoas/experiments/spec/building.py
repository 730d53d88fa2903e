"""An experiment from a table: domains, planners with their options, budgets, episodes, seeds and filter.

The table is what a TOML file holds, or what a command puts together; docs/experiments.md describes it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

from airoas.catalog import EPISODES_PER_MAP, FAMILIES, with_parameters, without_parameters
from airoas.compiler.clock import CLOCKS
from airoas.errors import OptionError, suggest
from airoas.experiments.spec.cells import Cell, DomainInfo, Part, Published, Spec, is_file_reference
from airoas.experiments.spec.fit import check_fit

Table = dict[str, Any]
"""What TOML holds, not yet known to be what it should be."""
COUNTS = {"episodes", "maps"}
SETTINGS = ("episodes", "maps", "seed", "filter", "particles", "max_steps", "clock")
PART = (*SETTINGS, "name", "domains", "planners", "vary", "compare", "choose", "quick")
TOP = (*PART, "title", "note", "parts", "reference", "scale", "only", "only_planners", "folder")
DOMAIN = (*SETTINGS, "label", "note", "upper_bound", "params")
PLANNER = ("planner", "on", "vary")
SCALED = ("episodes", "seconds", "iterations")
QUICK = {"episodes": 0.1, "seconds": 0.1, "iterations": 0.1}


def build(table: Table, source: str = "", folder: Path | None = None, check: bool = True) -> Spec:
    """The experiment that a table describes. `source` is its name in messages; relative paths start at `folder`. Without `check` it
    need not be able to run."""
    reader = _Reader(source)
    reader.only(table, TOP, "")
    whole = {**table, "folder": str(folder)} if folder else table
    tables = table.get("parts", [{}])
    if not isinstance(tables, list) or not all(isinstance(part, dict) for part in tables):
        raise reader.error("parts is no list of tables", "write [[parts]] above each.", "")
    scale = str(table.get("scale", ""))
    domains: dict[str, DomainInfo] = {}
    parts = []
    for number, own in enumerate(tables):
        where = f"parts[{number}]" if "parts" in table else ""
        reader.only(own, PART, where)
        part = {**{key: table[key] for key in PART if key in table}, **own}
        about = table["domains"] if isinstance(table.get("domains"), dict) else {}
        parts.append(_part(reader, part, where, _factors(reader, scale, part.get("quick", {})), domains, about))
    for number, part in enumerate([table, *tables]):
        for name, planner in part.get("planners", {}).items():
            known = {*domains, *map(without_parameters, domains)}
            reader.only(planner.get("on", {}), known, f"{f'parts[{number - 1}], ' if number else ''}planners.{name}.on")
    parts = _with_planners(reader, _chosen(reader, parts, table.get("only", "")), table.get("only_planners"))
    cells = [cell for part in parts for cell in part.cells]
    title, reference = _reference(reader, table, domains)
    names = {cell.planner for cell in cells}
    needs_folder = any(is_file_reference(name) for cell in cells for name in (cell.domain, cell.kind, cell.filter))
    spec = Spec(
        title=reader.text(table, "title", names.pop() if len(names) == 1 else ""),
        note=reader.text(table, "note", ""),
        scale=scale,
        folder=Path(reader.text(whole, "folder", "") or "."),
        parts=tuple(parts),
        domains=domains,
        reference=reference,
        reference_title=title,
        table=whole if needs_folder else table,  # a folder that nothing is read from is nobody's business
    )
    if check:
        check_fit(spec, source)
    return spec


class _Reader:
    """Takes values out of tables, and says where a wrong one stands."""

    def __init__(self, source: str) -> None:
        self.source = source

    def error(self, problem: str, remedy: str, where: str) -> OptionError:
        return OptionError(problem, remedy, where=", ".join(filter(None, (self.source, where))))

    def only(self, table: Any, known: Any, where: str) -> None:
        if not isinstance(table, dict):
            raise self.error(f"{table!r} stands where a table belongs", "write name = value pairs there.", where)
        for key in table:
            if key not in known:
                raise self.error(f"there is no key {key!r}", f"{suggest(key, known)}The keys here are {', '.join(sorted(known))}.", where)

    def whole(self, table: Table, key: str, default: Any, least: int, where: str) -> Any:
        value = table.get(key, default)
        if value is not default and (type(value) is not int or not least <= value < 1 << 53):
            raise self.error(f"{key} is {value!r}", f"give a whole number from {least} on.", where)
        return value

    def text(self, table: Table, key: str, default: str, where: str = "") -> str:
        value = table.get(key, default)
        if not isinstance(value, str):
            raise self.error(f"{key} is {value!r}", "give text in quotes.", where)
        return value

    def axes(self, table: Table, known: Any, where: str) -> list[Table]:
        """Every combination of the values that `vary` lists."""
        vary = table.get("vary", {})
        self.only(vary, known if known is not None else vary, f"{where}.vary".lstrip("."))
        for name, values in vary.items():
            if not isinstance(values, list) or not values:
                raise self.error(f"vary.{name} is {values!r}", "give a list of the values to try.", where)
        return [dict(zip(vary, values, strict=True)) for values in itertools.product(*vary.values())]


def _chosen(reader: _Reader, parts: list[Part], only: Any) -> list[Part]:
    """The parts whose name begins so, or those that a list names."""
    names = [part.name for part in parts if part.name]
    if isinstance(only, str):
        chosen = [part for part in parts if part.name.startswith(only)]
        if not chosen:
            raise reader.error(f"no part's name begins with {only!r}", f"{suggest(only, names)}The parts are {', '.join(names)}.", "")
        return chosen
    if not isinstance(only, list) or not only or not all(isinstance(name, str) for name in only):
        raise reader.error(f"only is {only!r}", "give the beginning of a part's name in quotes, or a list of names.", "")
    for name in only:
        if not any(part.name == name for part in parts):
            raise reader.error(f"no part is named {name!r}", f"{suggest(name, names)}The parts are {', '.join(names)}.", "")
    return [part for part in parts if part.name in only]


def _with_planners(reader: _Reader, parts: list[Part], names: Any) -> list[Part]:
    """The parts with the planners of these names alone; as they are where none are named."""
    if names is None:
        return parts
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise reader.error(f"only_planners is {names!r}", "give a list of names.", "")
    known = list(dict.fromkeys(cell.planner for part in parts for cell in part.cells))
    for name in names:
        if name not in known:
            raise reader.error(f"no planner is named {name!r}", f"{suggest(name, known)}The planners are {', '.join(known)}.", "")
    kept = [replace(part, cells=tuple(cell for cell in part.cells if cell.planner in names)) for part in parts]
    return [part for part in kept if part.cells]


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


def _part(reader: _Reader, table: Table, where: str, factors: dict[str, float], domains: dict[str, DomainInfo], about: Table) -> Part:
    """`about`: what the file says above its parts of each domain; how it is called and bounded holds in all of them."""
    wanted = table.get("domains")
    if isinstance(wanted, list) and all(isinstance(name, str) for name in wanted):
        wanted = {name: {} for name in wanted}
    planners = table.get("planners")
    for key, value, example in (("domains", wanted, 'domains = ["tiger"]'), ("planners", planners, "[planners.random]")):
        if not isinstance(value, dict) or not value:
            raise reader.error(f"no {key} are named", f"write {example}, for instance.", where)
    assert isinstance(wanted, dict)
    assert isinstance(planners, dict)
    cells: list[Cell] = []
    for outer in reader.axes(table, ("filter", "particles"), where):
        for name, own in wanted.items():
            at = f"domains.{name}"
            reader.only(own, DOMAIN, at)
            inherited = {key: table[key] for key in SETTINGS if key in table and not (key in COUNTS and own.keys() & COUNTS)}
            run = _settings(reader, name, inherited | own | outer, at, factors["episodes"])
            params = {**about.get(name, {}), **own}.get("params", {})
            reader.only(params, params, f"{at}.params")
            domain = with_parameters(name, params)
            info = domains.get(domain, DomainInfo(Path(domain).name, "", None))  # what one part says of a domain holds in all
            for given in (about.get(name, {}), own):
                reader.only(given, DOMAIN, at)
                bound = given.get("upper_bound", info.upper_bound)
                if bound is not None and not isinstance(bound, (int, float)):
                    raise reader.error(f"upper_bound is {bound!r}", "give a number.", at)
                info = DomainInfo(reader.text(given, "label", info.label, at), reader.text(given, "note", info.note, at), bound)
            domains[domain] = info
            for planner, options in planners.items():
                cells += _cells(reader, domain, planner, options, run, outer, factors)
    labels = [(cell.domain, cell.label) for cell in cells]
    for label in labels:
        if labels.count(label) > 1:
            raise reader.error(f"{label[1]} on {label[0]} stands twice", "vary each value once; after --scale two may be equal.", where)
    compare = table.get("compare", "all")
    compare = tuple(compare) if isinstance(compare, list) else (compare,)
    known = {"all", *planners, *(axis for cell in cells for axis in cell.axes)}
    for name in compare:
        if name not in known:
            raise reader.error(f"compare is {name!r}", f"{suggest(str(name), known)}It is one of {', '.join(sorted(known))}.", where)
    if not isinstance(table.get("choose", False), bool):
        raise reader.error(f"choose is {table['choose']!r}", "write true or false.", where)
    return Part(reader.text(table, "name", "", where), tuple(cells), compare, table.get("choose", False))


def _settings(reader: _Reader, domain: str, table: Table, where: str, factor: float) -> Table:
    """The settings of a run on one domain, with its seeds."""
    if table.keys() >= COUNTS:
        raise reader.error("both episodes and maps are given", f"give one; a map is {EPISODES_PER_MAP} episodes.", where)
    maps = reader.whole(table, "maps", None, 1, where)
    if maps is not None and without_parameters(domain) not in FAMILIES:
        remedy = f"give episodes instead; maps are drawn for {', '.join(FAMILIES)}."
        raise reader.error(f"{domain} has one map", remedy, where)
    first = reader.whole(table, "seed", 0, 0, where)
    episodes = reader.whole(table, "episodes", 100, 1, where) if maps is None else EPISODES_PER_MAP * maps
    wanted = episodes if factor == 1.0 else min(episodes, max(2, math.ceil(factor * episodes)))
    # In a family as many maps as there are, before any map is used twice: fewer episodes then say as much about maps as they can.
    many, each = (math.ceil(episodes / EPISODES_PER_MAP), EPISODES_PER_MAP) if without_parameters(domain) in FAMILIES else (episodes, 1)
    clock = reader.text(table, "clock", "wall", where)
    if clock not in CLOCKS:
        raise reader.error(f"clock is {clock!r}", f"deadlines are kept by one of {', '.join(CLOCKS)}.", where)
    return {
        "filter": reader.text(table, "filter", "auto", where),
        "particles": reader.whole(table, "particles", 10_000, 1, where),
        "max_steps": reader.whole(table, "max_steps", None, 1, where),
        "clock": clock,
        "seeds": tuple(sorted(first + each * (i % many) + i // many for i in range(wanted))),
    }


def _cells(
    reader: _Reader,
    domain: str,
    name: str,
    table: Any,
    run: Table,
    outer: Table,
    factors: dict[str, float],
) -> list[Cell]:
    where = f"planners.{name}"
    reader.only(table, table if isinstance(table, dict) else (), where)
    own = table.get("on", {})
    reader.only(own, own, f"{where}.on")
    special = own.get(domain, own.get(without_parameters(domain), {}))
    reader.only(special, special, f"{where}.on.{domain}")
    kind = reader.text(table, "planner", name, where)
    fixed = {key: value for key, value in table.items() if key not in PLANNER} | special
    cells = []
    for inner in reader.axes(table, None, where):
        options = {key: _scaled(reader, key, value, factors, where) for key, value in (fixed | inner).items()}
        axes = {key: options[key] for key in inner} | {("filter_particles" if key == "particles" else key): outer[key] for key in outer}
        cells.append(Cell(domain, name, kind, options, axes, **run))
    return cells


def _scaled(reader: _Reader, key: str, value: Any, factors: dict[str, float], where: str) -> Any:
    for number in value if isinstance(value, list) else [value]:
        if isinstance(number, float) and not math.isfinite(number):
            raise reader.error(f"{key} is {number}", "give finite numbers.", where)
    if key not in ("seconds", "iterations") or type(value) not in (int, float) or factors[key] == 1.0:
        return value
    return factors[key] * value if key == "seconds" else max(1, math.ceil(factors[key] * value))


def _reference(reader: _Reader, table: Table, domains: dict[str, DomainInfo]) -> tuple[str, dict[str, dict[str, Published]]]:
    own = table.get("reference", {})
    reader.only(own, ("title", "returns"), "reference")
    published = own.get("returns", {})
    reader.only(published, domains, "reference.returns")
    returns: dict[str, dict[str, Published]] = {}
    for domain, pairs in published.items():
        reader.only(pairs, pairs, f"reference.returns.{domain}")
        for name, pair in pairs.items():
            if not isinstance(pair, list) or not 1 <= len(pair) <= 2 or not all(isinstance(x, (int, float)) for x in pair):
                raise reader.error(f"{name} is {pair!r}", "give [mean] or [mean, standard error].", f"reference.returns.{domain}")
            returns.setdefault(domain, {})[name] = (float(pair[0]), float(pair[1]) if len(pair) == 2 else None)
    return reader.text(own, "title", "reference"), returns
