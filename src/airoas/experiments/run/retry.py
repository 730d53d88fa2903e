"""A robot's log tried again: what a planner would have decided where the robot did what it did."""

from __future__ import annotations

from typing import Any

import numpy as np

from airoas.agent import Agent
from airoas.belief.filters.interface import Filter
from airoas.logbook import Log
from airoas.modelling.kernel_model import KernelModel
from airoas.planners.base import Planner
from airoas.tables import TextTable, numbers


def retry(log: Log, model: KernelModel, planner: Planner, filter: str | Filter) -> TextTable:
    """A row for each step of the log: the belief follows what was done and seen, and the planner says what it would do."""
    about = log.about
    agent = Agent(
        model,
        planner,
        seed=int(about["seed"]),
        filter=filter,
        particles=int(about["particles"]),
        false_alarms=float(about["false_alarms"]),
        recover=bool(about["recover"]),
    )
    agent.prepare()

    def name(action: Any) -> str:
        return model.action_names[action] if model.action_names else numbers(action)

    table = TextTable(f"{planner} on {model}", ("step", "done", "decided now", "value", "surprise", "lost"))
    alike = 0
    for t, line in enumerate(log.steps):
        done = model.from_row("action", np.ravel(line["action"]))
        decision = agent.act()
        alike += done == decision.action
        agent.observe(model.from_row("observation", np.ravel(line["observation"])), action=done)
        shown = (name(done), name(decision.action), f"{decision.value:.4g}", f"{agent.surprise:.2f}", "lost" if agent.lost else "")
        table.rows.append((str(t), *shown))
    table.notes.append(f"the same as was done in {alike} of {len(log.steps)} steps")
    return table
