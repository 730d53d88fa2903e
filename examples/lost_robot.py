"""A robot that does not know where it is, in a world that is not quite its model.

Run it: `python examples/lost_robot.py`, or with `--seeds 100` to see how often it docks.

The building has six rooms that look alike. The robot has to find out where it is, drive to the charger and dock, with five decisions a
second. What it is told of itself is wrong: its strides are longer, and when it turns it slips.
"""

import argparse
import csv
import math
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

import airoas
from airoas import Vector
from airoas.compiler.clock import deadlines_in
from airoas.planners import AIROAS

PLAN = """
##############################
#........#........#.......C###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
###...######...######...######
#............................#
#............................#
#............................#
#............................#
####...######...######...#####
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
#........#........#........###
##############################
"""  # a cell is a metre; C is where the charger stands
CHARGER_X, CHARGER_Y, NEAR = 27.0, 29.0, 1.5
FORWARD, LEFT, RIGHT, DOCK = range(4)
RANGE, NOISE = 12.0, 0.5  # of the four beams


class Pose(NamedTuple):
    x: float
    y: float
    heading: float
    docked: bool


class Beams(NamedTuple):
    distances: Vector[4]  # to the front, to the left, back and to the right


def distance(walls, x, y, angle):
    """From (x, y) to the first wall that way, as far as a beam reaches: from one line of the grid to the next."""
    dx, dy = math.cos(angle), math.sin(angle)
    column, row = int(x), int(y)
    per_column, per_row = 1.0 / max(abs(dx), 1e-9), 1.0 / max(abs(dy), 1e-9)
    next_column = per_column * (column + 1.0 - x if dx > 0.0 else x - column)
    next_row = per_row * (row + 1.0 - y if dy > 0.0 else y - row)
    while True:
        gone = min(next_column, next_row)
        if next_column < next_row:
            column += 1 if dx > 0.0 else -1
            next_column += per_column
        else:
            row += 1 if dy > 0.0 else -1
            next_row += per_row
        if gone >= RANGE:
            return RANGE
        if walls[row, column]:
            return gone


@airoas.model
class Building(NamedTuple):
    """A step costs 1, one against a wall 6, and the robot stays. Docking at the charger pays 100 and ends it, elsewhere it costs 50."""

    stride: float = 1.5
    slip: float = 0.0  # of a turn, at most
    discount: float = 0.98
    max_steps: int = 80

    def prepare(self):
        return {"walls": np.array([[cell == "#" for cell in row] for row in reversed(PLAN.split())])}

    def actions(self):
        return ("forward", "left", "right", "dock")

    def initial(self, rng):
        west, south = 1.0 + 9.0 * rng.integer(3), 1.0 + 17.0 * rng.integer(2)  # of a room
        return Pose(west + 8.0 * rng.uniform(), south + 11.0 * rng.uniform(), 2.0 * math.pi * rng.uniform(), False)

    def step(self, s, a, rng):
        if a == DOCK:
            near = math.hypot(s.x - CHARGER_X, s.y - CHARGER_Y) <= NEAR
            return Pose(s.x, s.y, s.heading, near), 100.0 if near else -50.0
        if a == FORWARD:
            stride = self.stride + 0.1 * rng.normal()
            if distance(self.walls, s.x, s.y, s.heading) <= stride:
                return s, -6.0
            return Pose(s.x + stride * math.cos(s.heading), s.y + stride * math.sin(s.heading), s.heading, False), -1.0
        turn = math.pi / 4.0 * (1.0 - self.slip * rng.uniform()) + 0.05 * rng.normal()
        return Pose(s.x, s.y, (s.heading + (turn if a == LEFT else -turn)) % (2.0 * math.pi), False), -1.0

    def observe(self, s, a, rng):
        return Beams([distance(self.walls, s.x, s.y, s.heading + k * math.pi / 2.0) + NOISE * rng.normal() for k in range(4)])

    def obs_logpdf(self, o, s, a):
        total = -4.0 * math.log(NOISE * math.sqrt(2.0 * math.pi))
        for k, seen in enumerate(o.distances):
            z = (seen - distance(self.walls, s.x, s.y, s.heading + k * math.pi / 2.0)) / NOISE
            total -= 0.5 * z * z
        return total

    def is_terminal(self, s):
        return s.docked


def drive(model, world, options, seed):
    """One run in the world; what came of it."""
    planner = AIROAS(seconds=options.seconds, learn_seconds=options.learn)
    agent = airoas.Agent(model, planner, seed=seed, particles=options.particles, update_seconds=options.update, recover=True)
    agent.prepare()  # compile, find bounds, learn a policy: nothing of that while the robot moves
    rng = airoas.stream(seed, "world")
    s, earned, took, lost = world.initial(rng), 0.0, [], 0
    for step in range(options.steps):
        begun = time.process_time()
        decision = agent.act()
        took.append(time.process_time() - begun)
        s, reward = world.step(s, decision.action, rng)
        earned += world.discount**step * reward
        if step + 1 == options.kidnapped:
            s = world.initial(rng)
        if world.is_terminal(s):
            break
        seen = world.observe(s, decision.action, rng)
        begun = time.process_time()
        agent.observe(seen)
        took[-1] += time.process_time() - begun
        lost += bool(agent.recovery)
        if options.seeds == 1:
            x, y, *_ = agent.particles.mean()
            where = f"believes ({x:4.1f}, {y:4.1f}), is at ({s.x:4.1f}, {s.y:4.1f})"
            print(f"{step:3}  {model.action_names[decision.action]:<8} {where}  surprise {agent.surprise:.2f}  {agent.recovery}")
    times = {"mean_seconds": round(sum(took) / len(took), 3), "most_seconds": round(max(took), 3)}
    return {"seed": seed, "docked": int(s.docked), "steps": len(took), "return": round(earned, 3), "recovered": lost, **times}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=0.1, help="for a decision (default 0.1)")
    options.add_argument("--update", type=float, default=0.1, help="seconds for an update of the belief, about (default 0.1)")
    options.add_argument("--learn", type=float, default=10.0, help="seconds to learn a policy in, once (default 10)")
    options.add_argument("--particles", type=int, default=10_000)
    options.add_argument("--steps", type=int, default=80, help="at most (default 80)")
    options.add_argument("--stride", type=float, default=1.05, help="of the world, in those of the model (default 1.05)")
    options.add_argument("--slip", type=float, default=0.2, help="the most that a turn loses in the world (default 0.2)")
    options.add_argument("--kidnapped", type=int, default=0, help="after which step it is carried to another room (default 0: never)")
    options.add_argument("--seeds", type=int, default=1, help="runs (default 1, which is told step by step)")
    options.add_argument("--seed", type=int, default=0, help="the first (default 0)")
    options.add_argument("--out", type=Path, help="a CSV to which runs are added; those that it has are not run again")
    options = options.parse_args()
    warnings.simplefilter("ignore", airoas.LostWarning)  # it recovers, and says so itself
    model = Building()
    world = Building(stride=options.stride * model.stride, slip=options.slip)
    rows = []
    if options.out and options.out.exists():
        with options.out.open(newline="") as file:
            rows = list(csv.DictReader(file))
    with deadlines_in("wall" if options.seeds == 1 else "cpu"):  # many runs have their time, whatever else the machine does
        for seed in sorted(set(range(options.seed, options.seed + options.seeds)) - {int(row["seed"]) for row in rows}):
            rows.append(drive(model, world, options, seed))
            if options.out:
                with options.out.open("w", newline="") as file:
                    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(rows)
            if options.seeds > 1:
                print(", ".join(f"{name} {value}" for name, value in rows[-1].items()), flush=True)
    print(f"docked in {sum(int(row['docked']) for row in rows)} of {len(rows)} runs")


if __name__ == "__main__":
    main()
