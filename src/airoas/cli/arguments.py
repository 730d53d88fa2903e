"""Arguments of commands: one line for a wrong one, with what to do."""

from __future__ import annotations

import argparse
import dataclasses
import math
import sys
import warnings
from typing import Any

from airoas.errors import OptionError


class Parser(argparse.ArgumentParser):
    """Errors in one line, with what to do."""

    def error(self, message: str) -> Any:
        print(f"airoas: {message}. See `{self.prog} --help`.", file=sys.stderr)
        raise SystemExit(2)


def positive(text: str) -> int:
    """A whole number from 1 on."""
    return whole(text, least=1)


def whole(text: str, least: int = 0) -> int:
    """A whole number from 0 on."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
    if not least <= value < 1 << 63:
        raise argparse.ArgumentTypeError(f"{text} is out of range; give a whole number from {least} on")
    return value


def seconds(text: str) -> float:
    """A time above 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a time; give seconds above 0")
    return value


def add_mode(parser: Any) -> None:
    """--mode."""
    remark = "debug checks array bounds; interpreted runs under pdb"
    parser.add_argument("--mode", choices=("compiled", "debug", "interpreted"), help=remark)


def add_budget(parser: Any, required: bool = False) -> None:
    """--seconds or --iterations."""
    budget = parser.add_mutually_exclusive_group(required=required)
    budget.add_argument("--seconds", type=seconds, metavar="S", help="wall-clock time for a decision")
    budget.add_argument("--iterations", type=positive, metavar="N", help="trials for a decision")


def read_settings(options: argparse.Namespace) -> dict[str, Any]:
    """The planner's options from --set and the budget; a budget that the planner does not have is said to be without effect."""
    from airoas.catalog import planner_class

    settings: dict[str, Any] = {}
    for item in options.settings:
        name, separator, value = item.partition("=")
        if not separator:
            raise OptionError(f"--set {item}", "write --set name=value.")
        settings[name] = value
    known = {option.name for option in dataclasses.fields(planner_class(options.planner))}
    for budget in ("seconds", "iterations"):
        if getattr(options, budget) is not None:
            if budget in known:
                settings[budget] = getattr(options, budget)
            else:
                warnings.warn(f"the {options.planner} planner decides at once: --{budget} has no effect", stacklevel=2)
    return settings
