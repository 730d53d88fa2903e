"""A robot that does not know where it is, in a world that is not quite its model.

Run it: `python examples/lost_robot.py`, or with `--seeds 100` to see how often it docks.

The building has six rooms that look alike. The robot has to find out where it is, drive to the charger and dock. `World` stands for the
real one, which the model does not know: a wheel slips, and on the way somebody carries the robot to another room.
"""

import argparse
import warnings

import airoas
from airoas.domains.strangers.building import FORWARD, Building, State
from airoas.planners import AIROAS


class World:
    """The building as it is."""

    def __init__(self, model, seed, slip, kidnapped):
        self.model, self.slip, self.kidnapped = model, slip, kidnapped
        self.rng = airoas.stream(seed, "world")
        self.state, self.steps = model.initial(self.rng), 0

    def move(self, action):
        """Carry the action out and return what the beams say afterwards; None once docked."""
        self.steps += 1
        before = self.state
        after, _ = self.model.step(before, action, self.rng)
        if action == FORWARD:
            left = 1.0 - self.slip * self.rng.uniform()  # of the stride
            after = State(before.x + left * (after.x - before.x), before.y + left * (after.y - before.y), after.heading, 0)
        if self.steps == self.kidnapped:
            after = self.model.initial(self.rng)
        self.state = after
        return None if self.model.is_terminal(after) else self.model.observe(after, action, self.rng)


def drive(options, seed):
    """One run; how many steps it took to dock, None where it did not."""
    model = Building()
    agent = airoas.Agent(
        model,
        AIROAS(seconds=options.seconds, learn_seconds=options.learn),
        seed=seed,
        particles=options.particles,
        recover=True,
        log=options.log,
    )
    agent.prepare()  # compile, find bounds, learn a policy: nothing of that while the robot moves
    world = World(model, seed, options.slip, options.kidnapped)
    for step in range(options.steps):
        decision = agent.act()
        seen = world.move(decision.action)
        if seen is None:
            return step + 1
        agent.observe(seen)
        if options.seeds == 1:
            x, y, *_ = agent.particles.mean()
            where = f"believes ({x:4.1f}, {y:4.1f}), is at ({world.state.x:4.1f}, {world.state.y:4.1f})"
            print(f"{step:3}  {model.action_names[decision.action]:<8} {where}  surprise {agent.surprise:.2f}  {agent.recovery}")
    return None


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=0.15, help="for one decision (default 0.15: with the update 5 Hz)")
    options.add_argument("--learn", type=float, default=10.0, help="seconds to learn a policy in, once (default 10)")
    options.add_argument("--particles", type=int, default=10_000)
    options.add_argument("--steps", type=int, default=80, help="at most (default 80)")
    options.add_argument("--slip", type=float, default=0.3, help="the most that a stride loses (default 0.3)")
    options.add_argument("--kidnapped", type=int, default=15, help="at which step it is carried away (default 15; 0: never)")
    options.add_argument("--seeds", type=int, default=1, help="runs (default 1, which is told step by step)")
    options.add_argument("--log", help="a file for the log of the last run")
    options = options.parse_args()
    warnings.simplefilter("ignore", airoas.LostWarning)  # it recovers, and says so itself
    docked = []
    for seed in range(options.seeds):
        docked.append(drive(options, seed))
        if options.seeds > 1:
            print(f"seed {seed}: {'not docked' if docked[-1] is None else f'docked after {docked[-1]} steps'}", flush=True)
    print(f"docked in {sum(steps is not None for steps in docked)} of {len(docked)} runs")


if __name__ == "__main__":
    main()
