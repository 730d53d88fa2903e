"""How soon a robot notices that it is lost, how often it does so without reason, and whether it finds itself again: the data of
docs/robot.md.

`python -m tools.lost_study` (about an hour on one idle core) adds to docs/robot/*.csv what they do not have; with names of studies, these
alone. Delete a file to measure all of it again.
"""

from __future__ import annotations

import csv
import math
import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import airoas
from airoas import Agent, Particles
from airoas.belief.filters.interface import as_particles, filter_name
from airoas.belief.filters.update import make_filter
from airoas.belief.ranking import rank
from airoas.catalog import DOMAINS, FAMILIES
from airoas.domains.strangers.building import BEAM_SD, FORWARD, LEFT, MAP, RIGHT, STRIDE, TURN, Building, State, beams
from airoas.planners import Random
from tools.marks import ROOT

FOLDER = ROOT / "docs" / "robot"
STEPS, SECONDS, MOST = 3000, 30.0, 400
"""Steps of a domain in the study of false alarms, or as many as this CPU time allows, in so many episodes at most."""
RUNS, LONGEST, INFORMED = 30, 60, 10
"""Runs of a trouble in the building; how long one is; and for how many informative steps it goes on without recovery, up to four times as
long, if nothing was noticed: a robot that stays in a room that looks the same has nothing to notice."""
TIMED, TIMED_SECONDS, REPEATED = 60, 2.0, 10
"""Updates of a domain that are timed, or as many as this CPU time allows; each so often in a row: reading the clock takes time."""
FALSE_ALARM_SEEDS, TROUBLE_SEEDS, PARTICLE_SEEDS = 770_000, 760_000, 720_000
"""Those of troubles and of false alarms were not used before: others from 700,000 on were looked at before; the rate of false alarms was
chosen on 730,000 on, the injection on 310,000 and 320,000 on."""
EPISODES = 40
"""Of each number of particles."""
SETTLED = 8
"""Steps before something happens to the robot."""
TROUBLES = ("none", "no idea", "wrong room", "slip", "kidnapped")
"""In the first two nothing is wrong: one knows where one begins, or not."""
INFORMATIVE = 3.0
SLIP = 0.5
"""Of a stride, where a wheel slips."""
Record = dict[str, Any]


def domains() -> list[str]:
    return [name for name in DOMAINS if name not in FAMILIES]


def load(name: str) -> list[Record]:
    """The rows of a study that are there."""
    data = FOLDER / f"{name}.csv"
    if not data.exists():
        return []
    with open(data, newline="") as file:
        return list(csv.DictReader(file))


def false_alarms() -> Iterator[Record]:
    """Every domain with the right model and a random planner."""
    known = {record["domain"] for record in load("false_alarms")}
    for name in (name for name in domains() if name not in known):
        model = DOMAINS[name](0)
        steps = alarms = episodes = deprived = 0
        begun = time.process_time()
        while steps < STEPS and episodes < MOST and time.process_time() - begun < SECONDS:
            try:
                episode = airoas.simulate(model, Random(), seed=FALSE_ALARM_SEEDS + episodes)
                alarms, steps = alarms + len(episode.lost_at), steps + episode.steps
            except airoas.ParticleDeprivationError:  # it says so itself
                deprived += 1
            episodes += 1
        filter = filter_name(make_filter("auto", model, 10_000))
        yield {"domain": name, "filter": filter, "episodes": episodes, "steps": steps, "alarms": alarms, "deprived": deprived}


def cost() -> Iterator[Record]:
    """CPU time of the surprise beside that of the update, in every domain with its default filter and random actions."""
    known = {record["domain"] for record in load("cost")}
    for name in (name for name in domains() if name not in known):
        model = DOMAINS[name](0)
        filter, seed = make_filter("auto", model, 10_000), 0
        times: list[tuple[float, float]] = []
        begun = time.process_time()
        while len(times) < TIMED and seed < TIMED and (seed < 4 or time.process_time() - begun < TIMED_SECONDS):
            lap = _timed(model, filter, FALSE_ALARM_SEEDS + seed)
            if seed < 3:  # the first episodes compile, and warm up
                begun = time.process_time()
            times, seed = [*times, *lap] if seed >= 3 else [], seed + 1
        update, surprise = (1e6 * np.array(times).T.mean(1)).tolist() if times else (math.nan, math.nan)
        record = {"domain": name, "filter": filter_name(filter), "steps": len(times), "update_us": round(update, 1)}
        yield record | {"surprise_us": round(surprise, 1), "ratio": round(surprise / update, 4)}


def _timed(model: Any, filter: Any, seed: int) -> list[tuple[float, float]]:
    """CPU seconds of update and surprise at each step of an episode of at most 20."""
    world, rng, planner, times = airoas.stream(seed, "world"), airoas.stream(seed, "filter"), Random(), []
    s, belief = model.initial(world), filter.start(model, rng)
    for _ in range(20):
        action = planner.plan(model, as_particles(belief, 100, rng), world).action
        s = model.step(s, action, world)[0]
        if model.is_terminal(s):
            break
        observation = model.observe(s, action, world)
        clock = [time.process_time()]
        try:
            for _ in range(REPEATED):
                after = filter.update(model, belief, action, observation, rng).belief
        except airoas.ParticleDeprivationError:
            break
        clock.append(time.process_time())
        for _ in range(REPEATED):
            rank(model, belief, action, observation, rng)
        clock.append(time.process_time())
        times.append(((clock[1] - clock[0]) / REPEATED, (clock[2] - clock[1]) / REPEATED))
        belief = after
    return times


CELLS = list(reversed(MAP.split()))
MIDDLE, ALONG = (5.0, 14.0, 23.0), 14.9
"""Where rooms and the corridor are in the middle, x and y."""
DOORS = {True: (4.5, 13.5, 22.5), False: (5.5, 14.5, 23.5)}
"""The x of the doors in the north and in the south."""


class Tour:
    """Drives through the building as one who sees it from above: out of the room, along the corridor, into the next room."""

    def __init__(self, model: Any, rng: np.random.Generator) -> None:
        self.model, self.rng = model, rng
        self.points: list[tuple[float, float]] = []

    def action(self, s: State) -> int:
        if self.points and math.dist((s.x, s.y), self.points[0]) < 1.2:
            self.points.pop(0)
        if not self.points:
            self.points = self._way(s)
        aim = math.atan2(self.points[0][1] - s.y, self.points[0][0] - s.x)
        off = (aim - s.heading + math.pi) % (2.0 * math.pi) - math.pi
        if abs(off) <= TURN / 2 + 0.02:
            front = beams(self.model.walls, s)[0]
            return FORWARD if front > STRIDE + 0.3 else int(self.rng.choice((LEFT, RIGHT)))
        return LEFT if off > 0 else RIGHT

    def restart(self) -> None:
        self.points = []

    def _way(self, s: State) -> list[tuple[float, float]]:
        points = []
        if not 13.0 <= s.y <= 17.0:  # in a room
            north = s.y > 15.0
            door = DOORS[north][min(2, int((s.x - 1.0) // 9.0))]
            points += [(door, 19.5 if north else 10.5), (door, ALONG)]
        north, room = bool(self.rng.integers(2)), int(self.rng.integers(3))
        door = DOORS[north][room]
        return [*points, (door, ALONG), (door, 19.5 if north else 10.5), (MIDDLE[room], 23.0 if north else 7.0)]


def anywhere(model: Any, rng: Any) -> State:
    """A place in a room."""
    return State(*model.from_row("state", Particles.sample(model, 1, rng).states[0]))


def elsewhere(s: State, numbers: np.random.Generator) -> State:
    """The same place in another room, turned where that lies on the other side of the corridor: nothing tells the two gaps inside."""
    room = min(2, int((s.x - 1.0) // 9.0)) + 3 * (s.y > 15.0)
    other = int(numbers.choice([k for k in range(6) if k != room]))
    x, y = s.x - 1.0 - 9.0 * (room % 3), s.y - 1.0 - 17.0 * (room // 3)
    if room // 3 == other // 3:
        return State(1.0 + 9.0 * (other % 3) + x, s.y, s.heading, 0)
    return State(9.0 + 9.0 * (other % 3) - x, 12.0 + 17.0 * (other // 3) - y, (s.heading + math.pi) % (2.0 * math.pi), 0)


def around(s: State, n: int, numbers: np.random.Generator) -> Particles:
    """A belief that is sure of a place."""
    states = np.tile(np.array([s.x, s.y, s.heading, 0.0]), (n, 1))
    states[:, :3] += numbers.normal(size=(n, 3)) * (0.2, 0.2, 0.05)
    states[:, 2] %= 2.0 * math.pi
    return Particles(states)


def run(trouble: str, seed: int, recover: bool, particles: int = 10_000) -> Record:
    """A robot on tour, with its agent. After some steps one of the troubles begins. Informative steps are counted without recovery."""
    model, rng, numbers = Building(), airoas.stream(seed, "world"), np.random.default_rng(seed)
    s = anywhere(model, rng)
    tour = Tour(model, numbers)
    belief = None if trouble == "no idea" else around(s, particles, numbers)
    robot = Agent(model, Random(), seed, particles=particles, belief=belief, recover=recover)
    noticed = recovered = None
    informative = n_near = 0
    weight = 0.0
    off, begun = False, time.process_time()
    for t in range(4 * LONGEST):
        since = t - SETTLED
        over = t >= LONGEST
        if over and (trouble in TROUBLES[:2] or recover or noticed is not None or informative >= INFORMED):
            break
        if since == 0 and trouble == "kidnapped":
            s = anywhere(model, rng)
            tour.restart()
        if since == 0 and trouble == "wrong room":
            robot.updated = airoas.Updated(around(elsewhere(s, numbers), particles, numbers))
        action = tour.action(s)
        s = moved(model, s, action, rng, SLIP if trouble == "slip" and since >= 0 else 1.0)
        if since >= 0 and noticed is None and not recover and trouble not in TROUBLES[:2]:
            informative += divergence(model, robot, action, s, rng) > INFORMATIVE
        robot.observe(model.observe(s, action, rng), action=action)
        if since >= 0:
            near = weight_near(robot.belief, s)
            if noticed is None and (robot.lost or robot.recovery):
                noticed = since + 1
            off = off or near < 0.2
            if over:
                continue
            if off and recovered is None and near >= 0.8:
                recovered = since + 1
            n_near += near >= 0.8
            weight += near / (LONGEST - SETTLED)
    record = {"trouble": trouble, "recover": recover, "seed": seed, "noticed": noticed, "informative": informative, "recovered": recovered}
    return record | {"near": n_near, "weight": round(weight, 4), "cpu_seconds": round(time.process_time() - begun, 2)}


def moved(model: Any, s: State, action: int, rng: Any, slip: float) -> State:
    """A step of the world; slip: how much of a stride is left."""
    after: State = model.step(s, action, rng)[0]
    if action == FORWARD:
        return State(s.x + slip * (after.x - s.x), s.y + slip * (after.y - s.y), after.heading, 0)
    return after


def divergence(model: Any, agent: Agent, action: int, s: State, rng: Any) -> float:
    """Of what is to be seen in the true place from what the belief predicts, about, in nats; above 3 an observation is informative."""
    few = agent.belief.draw(300, rng)
    truth = np.array(beams(model.walls, s))
    likely = 0.0
    for row in few.states:
        predicted = model.step(State(row[0], row[1], row[2], 0), action, rng)[0]
        gaps = (np.array(beams(model.walls, predicted)) - truth) / BEAM_SD
        likely += math.exp(-0.5 * float(gaps @ gaps)) / len(few)
    return -math.log(max(likely, 1e-300))


def weight_near(belief: Particles, s: State) -> float:
    """The weight within 1 m of the truth."""
    return float(belief.weights[np.hypot(belief.states[:, 0] - s.x, belief.states[:, 1] - s.y) <= 1.0].sum())


def troubles() -> Iterator[Record]:
    """A robot in the building to which something happens, with and without recovery."""
    known = {(row["trouble"], row["recover"], row["seed"]) for row in load("troubles")}
    for seed in range(TROUBLE_SEEDS, TROUBLE_SEEDS + RUNS):
        for trouble in TROUBLES:
            for recover in (False, True):
                if (trouble, str(recover), str(seed)) not in known:
                    yield run(trouble, seed, recover)


def particles() -> Iterator[Record]:
    """The building with a random planner and several numbers of particles: whether the truth was lost at the end, and noticed."""
    known = {(row["particles"], row["seed"]) for row in load("particles")}
    for seed in range(PARTICLE_SEEDS, PARTICLE_SEEDS + EPISODES):
        for n in (500, 2000, 10_000):
            if (str(n), str(seed)) not in known:
                episode = airoas.simulate(Building(), Random(), seed=seed, particles=n)
                *_, last = episode.beliefs()
                lost = weight_near(last, State(*episode.states[episode.steps - episode.terminated])) < 0.01
                yield {"particles": n, "seed": seed, "steps": episode.steps, "lost": lost, "noticed": bool(episode.lost_at)}


STUDIES = {"false_alarms": false_alarms, "cost": cost, "troubles": troubles, "particles": particles}


def main(names: list[str]) -> None:
    """Each row is kept as soon as it is there."""
    warnings.simplefilter("ignore", airoas.LostWarning)
    FOLDER.mkdir(exist_ok=True)
    for name in names or STUDIES:
        is_new = not load(name)
        with open(FOLDER / f"{name}.csv", "a", newline="") as file:
            for record in STUDIES[name]():
                writer = csv.DictWriter(file, list(record))
                if is_new:
                    writer.writeheader()
                    is_new = False
                writer.writerow(record)
                file.flush()
                print(record, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
