"""A robot that hunts an intruder, with a deadline for every decision.

Run it: `python examples/tracking_robot.py`.

The loop is the one of a real robot. `Room` stands for the hardware: replace its two methods by your own.
"""

import argparse
import time

import airoas
from airoas.domains import Tag
from airoas.planners import AIROAS


class Room:
    """The world as it is, which the robot never sees."""

    def __init__(self, model, seed):
        self.model = model
        self.rng = airoas.stream(seed, "room")
        self.state = model.initial(self.rng)

    def move(self, action):
        """Carry the action out and return what the robot senses afterwards."""
        self.state, _ = self.model.step(self.state, action, self.rng)
        return self.model.observe(self.state, action, self.rng)

    def is_over(self):
        return self.model.is_terminal(self.state)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seconds", type=float, default=0.1, help="for one decision (default 0.1)")
    options.add_argument("--steps", type=int, default=50, help="at most (default 50)")
    options.add_argument("--seed", type=int, default=0)
    options = options.parse_args()

    model = Tag()
    planner = AIROAS(seconds=options.seconds)
    planner.prepare(model)  # compile and find bounds now: no decision has to wait for that
    agent = airoas.Agent(model, planner, seed=options.seed)
    room = Room(model, options.seed)

    latest = 0.0
    for step in range(options.steps):
        begun = time.perf_counter()
        decision = agent.act()
        took = time.perf_counter() - begun
        latest = max(latest, took - options.seconds)
        name = model.action_names[decision.action]
        print(f"{step:3}  {name:<6} decided in {1e3 * took:6.1f} ms, {decision.stats.trials} trials")
        sensed = room.move(decision.action)
        if room.is_over():
            print("caught")
            break
        agent.observe(sensed)
    # A restarted robot goes on from here: Agent(..., belief=airoas.Particles.load("tracking_robot.npz")).
    agent.belief.save("tracking_robot.npz")
    print(f"the latest decision came {max(0.0, 1e3 * latest):.2f} ms after its deadline")


if __name__ == "__main__":
    main()
