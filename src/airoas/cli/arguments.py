"""Arguments of commands: one line for a wrong one, with what to do."""

from __future__ import annotations

import argparse
import ast
import dataclasses
import logging
import math
import re
import sys
from typing import Any

from airoas.errors import OptionError, suggest

log = logging.getLogger(__name__)
MEANT = {"--deadline": "--seconds", "--time": "--seconds", "--timeout": "--seconds", "--budget": "--seconds", "--trials": "--iterations"}
"""Options that people look for under another name."""


class Parser(argparse.ArgumentParser):
    """Errors in one line, with what to do."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuses here what it does not know, so that the message is of the command at hand."""
        parsed, rest = super().parse_known_args(args, namespace)
        if rest:
            name, known = rest[0].partition("=")[0], [option for option in self._option_string_actions if option.startswith("--")]
            meant = MEANT.get(name, "")
            near = f"Did you mean `{meant}`? " if meant in known else _capital(suggest(name, known)) if name.startswith("-") else ""
            self.error(f"unrecognized arguments: {' '.join(rest)}", near)
        return parsed, rest

    def error(self, message: str, near: str = "") -> Any:
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice:
            near = _capital(suggest(choice[1], re.findall(r"[\w-]+", choice[2])))
        print(f"airoas: {message}. {near}See `{self.prog} --help`.", file=sys.stderr)
        raise SystemExit(2)


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


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


def add_full(parser: Any) -> None:
    """--full."""
    remark = "keep all of every move, ten times the space: timed episodes can be repeated by that"
    parser.add_argument("--full", action="store_true", help=remark)


def add_timeout(parser: Any) -> None:
    """--episode-timeout."""
    remark = "put an episode that takes longer down as failed and go on (default: wait for it)"
    parser.add_argument("--episode-timeout", type=seconds, metavar="S", help=f"seconds after which to {remark}")


def add_budget(parser: Any, required: bool = False) -> None:
    """--seconds or --iterations."""
    budget = parser.add_mutually_exclusive_group(required=required)
    budget.add_argument("--seconds", type=seconds, metavar="S", help="wall-clock time for a decision")
    budget.add_argument("--iterations", type=positive, metavar="N", help="trials for a decision")


def add_param(parser: Any) -> None:
    """--param."""
    parser.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", dest="params", help="a parameter of the model")


def read_domain(options: argparse.Namespace) -> str:
    """The domain with the parameters of --param."""
    from airoas.catalog import with_parameters

    parameters: dict[str, Any] = {}
    for item in options.params:
        name, separator, text = item.partition("=")
        if not separator or not name.isidentifier():
            raise OptionError(f"--param {item}", "write --param name=value.")
        try:
            parameters[name] = ast.literal_eval({"true": "True", "false": "False"}.get(text, text))
        except (ValueError, SyntaxError):
            parameters[name] = text
    return with_parameters(options.domain, parameters)


def add_agent(parser: Any) -> None:
    """The agent's belief, and the length of episodes: --filter, --particles, --max-steps."""
    remark = "the agent's belief update: auto, bootstrap, annealed, adaptive, exact, or file.py:Filter"
    parser.add_argument("--filter", default="auto", metavar="NAME", help=remark)
    remark = "particles of that belief (default 10000; an adaptive filter begins with twenty times as many)"
    parser.add_argument("--particles", type=positive, default=10_000, metavar="N", help=remark)
    parser.add_argument("--max-steps", type=positive, metavar="N", help="length of an episode (default: the domain's own)")


def add_adjusted(parser: Any) -> None:
    """--adjusted."""
    remark = "returns by a control variate too, which takes out what chance decided; worked out where they are not there yet, and kept"
    parser.add_argument("--adjusted", action="store_true", help=remark)


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
                log.warning("the %s planner decides at once: --%s has no effect", options.planner, budget)
    return settings
