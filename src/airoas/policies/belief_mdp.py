"""The particle-belief MDP: many runs side by side, each with a truth, particles that do not know it, and a policy.

A run holds a truth, which makes the observations and earns the rewards, and particles of equal weight, of which the truth was one to
begin with. They are stepped, weighed by what was seen and resampled, so that a policy of the belief sees about what an agent with a real
filter would see; see `airoas.policies.resampling`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from airoas.bounds.learned.forest import TREES, leaf_of
from airoas.compiler.clock import now
from airoas.compiler.kernels import kernel
from airoas.compiler.specialise import noinline
from airoas.compiler.vector_exp import exp
from airoas.policies.pairs import describe_options, describe_pair, imagine
from airoas.policies.resampling import propose, resample, spread
from airoas.policies.runs import BLIND, DEFAULT, FOLLOW, FORCED, GREEDY, SEEK, VOTING, Policy, Runs
from airoas.rng import hash_key, new_stream

MOST_TOLD, NOTHING = 6.0, 1e-12
"""Log of the ratio of variances, at most; and a variance that is none."""
FAR = 100.0
"""Steps to where much is told, at most."""
ARRIVED = 0.2
"""Steps: a run that seeks has arrived where fewer are expected to be left."""
REFUTED = 0.05
"""Of the particles, those of a cluster: where fewer are left the run no longer believes in it."""
SEEN = 0.6
"""Nats that an observation tells for a macro-action to end: less than one of two equally likely answers does."""


@noinline
def set_runs(runs: Runs, states: Any, weights: Any, labels: Any, seed: int) -> None:
    """Give every run particles drawn from a belief by weight, and one of them as the truth. labels: their clusters."""
    n, own = runs.n_particles, new_stream()
    total = 0.0
    for i in range(len(weights)):
        total += weights[i]
    for r in range(runs.n_runs):
        own.reseed(seed, runs.world[r], 0)
        offset, reached, i = own.uniform(), weights[0], 0
        for j in range(n - 1):
            point = (j + offset) * total / (n - 1)
            while reached <= point and i < len(weights) - 1:
                i += 1
                reached += weights[i]
            row = r * n + j + 1
            runs.numbers[row] = runs.world[r] * n + j + 1
            for k in range(states.shape[1]):
                runs.states[row, k] = states[i, k]
            runs.labels[row] = labels[i]
            runs.alive[row] = True
        row = r * n + 1 + own.integer(n - 1)  # any of them is as likely as its weight
        runs.numbers[r * n] = runs.world[r] * n
        runs.alive[r * n] = True
        for k in range(states.shape[1]):
            runs.states[r * n, k] = runs.states[row, k]
        runs.labels[r * n] = runs.labels[row]
        runs.returns[r] = 0.0


@noinline
def score(policy: Policy, runs: Runs, seed: int) -> None:
    """q_a(b) of every run, which actions its particles allow, and its features."""
    n, m, actions = runs.n_particles, policy.scored, len(policy.actions)
    for r in range(runs.n_runs):
        for j in range(m):
            row = r * n + 1 + j * (n - 1) // m
            runs.scored_alive[r * m + j] = runs.alive[r * n] and runs.alive[row]
            runs.scored_numbers[r * m + j] = runs.world[r] * m + j
            for k in range(runs.states.shape[1]):
                runs.scored[r * m + j, k] = runs.states[row, k]
        for a in range(actions):
            runs.q[r, a] = 0.0
            runs.legal[r, a] = True
    count = runs.n_runs * m
    some, alive = runs.scored[:count], runs.scored_alive[:count]
    if policy.simulator.is_restricted:
        for a in range(actions):
            policy.simulator.permits(some, alive, policy.actions[a : a + 1], runs.scored_arrived[:count])
            for i in range(count):
                if alive[i] and not runs.scored_arrived[i]:
                    runs.legal[i // m, a] = False
    for r in range(runs.n_runs):
        if runs.believed[r] >= 0:
            score_believed(runs, r, m)
    for i in range(count):
        runs.totals[i] = -math.inf
    if policy.by_action:
        policy.value(some, alive, runs.values[:count], 0)
    for a in range(actions):
        if not policy.by_action:
            rows = runs.scored_after[:count], runs.scored_rewards[:count], runs.scored_arrived[:count]
            policy.simulator.step(some, alive, policy.actions[a : a + 1], hash_key(seed, a, 0), runs.scored_numbers[:count], *rows)
            if policy.shared:
                imagine(policy, runs, a, hash_key(seed, a, 1))
            policy.value(rows[0], rows[2], runs.values[:count], 0)
        for i in range(count):
            if alive[i]:
                if policy.by_action:
                    value = runs.values[i, a]
                else:
                    later = best_value(policy, runs.values, i) if runs.scored_arrived[i] else 0.0
                    value = runs.scored_rewards[i] + policy.simulator.discount * later
                if runs.legal[i // m, a] and value > runs.totals[i]:
                    runs.totals[i], runs.favourites[i] = value, a
                runs.q[i // m, a] += value
                if policy.shared:
                    runs.each[i, a] = value
    for r in range(runs.n_runs):
        count = 0
        for j in range(m):
            count += int(runs.scored_alive[r * m + j])
        for a in range(actions):
            runs.q[r, a] = runs.q[r, a] / max(1, count) if runs.legal[r, a] else -1e30
        describe(policy, runs, r, count)
        if policy.shared:
            describe_options(policy, runs, r, count)


def score_believed(runs: Runs, r: int, m: int) -> None:
    """Score particles of the cluster that a run believes in, unless too few are left."""
    n, live = runs.n_particles, 0
    for row in range(r * n + 1, r * n + n):
        live += int(runs.alive[row] and runs.labels[row] == runs.believed[r])
    if live < REFUTED * (n - 1):
        runs.believed[r] = -1
        return
    row, passed = r * n, -1
    for j in range(m):
        while passed < j * live // m:
            row += 1
            passed += int(runs.alive[row] and runs.labels[row] == runs.believed[r])
        runs.scored_alive[r * m + j] = runs.alive[r * n]
        for k in range(runs.states.shape[1]):
            runs.scored[r * m + j, k] = runs.states[row, k]


def best_value(policy: Policy, values: Any, i: int) -> float:
    """V(s) of a row of what `value` wrote."""
    best = -math.inf
    for column in range(policy.n_values):
        best = max(best, values[i, column])
    return best


def describe(policy: Policy, runs: Runs, r: int, count: int) -> None:
    """The features of a run's belief."""
    n, m, at = runs.n_particles, policy.scored, 0
    phi = runs.features[r]
    live = 0
    for row in range(r * n + 1, r * n + n):
        live += int(runs.alive[row])
    for c in range(len(policy.components)):
        k = policy.components[c]
        mean = 0.0
        for j in range(r * n + 1, r * n + n):
            mean += runs.states[j, k] if runs.alive[j] else 0.0
        mean /= max(1, live)
        variance = 0.0
        for j in range(r * n + 1, r * n + n):
            x = runs.states[j, k] - mean if runs.alive[j] else 0.0
            variance += x * x
        phi[at], phi[at + 1] = mean, math.sqrt(variance / max(1, live))
        at += 2
        for bit in range(policy.bits[c]):
            ones = 0
            for j in range(r * n + 1, r * n + n):
                ones += int(runs.states[j, k]) >> bit & 1 if runs.alive[j] else 0
            phi[at] = ones / max(1, live)
            at += 1
    best = -math.inf
    for a in range(len(policy.actions)):
        best = max(best, runs.q[r, a])
    for a in range(len(policy.actions)):
        phi[at] = max(runs.q[r, a] - best, -1e6)
        at += 1
    known = 0.0
    for i in range(r * m, r * m + m):
        known += runs.totals[i] if runs.scored_alive[i] else 0.0
    phi[at] = best
    phi[at + 1] = known / max(1, count) - best


def correct(policy: Policy, runs: Runs, r: int) -> None:
    """Add what was learned to q."""
    forest = policy.correction
    if policy.shared:
        for a in range(len(policy.actions)):
            if runs.legal[r, a]:
                describe_pair(policy, runs.features[r], runs.options[r, a], a, runs.pair[0])
                for tree in range(len(forest.roots)):
                    runs.q[r, a] += forest.values[leaf_of(forest, runs.pair, 0, tree), 0]
        return
    for tree in range(len(forest.roots)):
        leaf = leaf_of(forest, runs.features, r, tree)
        for a in range(len(policy.actions)):
            if runs.legal[r, a]:
                runs.q[r, a] += forest.values[leaf, a]


def first_of(flags: Any) -> int:
    """The place of the first that is set."""
    a = 0
    while a < len(flags) - 1 and not flags[a]:
        a += 1
    return a


def best_of(q: Any) -> int:
    """The index of the largest."""
    best = 0
    for a in range(1, len(q)):
        if q[a] > q[best]:
            best = a
    return best


@noinline
def choose_actions(policy: Policy, runs: Runs, t: int, seed: int) -> None:
    """What every run does at step t."""
    score(policy, runs, hash_key(seed, 0, 0))
    for r in range(runs.n_runs):
        if policy.corrected and runs.believed[r] < 0:
            correct(policy, runs, r)
        runs.chosen_action[r] = best_of(runs.q[r]) if runs.alive[r * runs.n_particles] else -1
    if policy.way == VOTING:
        vote(policy, runs)
    elif policy.way != GREEDY:
        depart(policy, runs, hash_key(seed, 2, 0))
    if policy.n_routes > 0:
        seek(policy, runs, hash_key(seed, 3, 0))
    for r in range(runs.n_runs):
        if is_forced(policy, runs, r, t):
            take(runs, r, runs.forced[r], t)
        elif policy.way == DEFAULT and not policy.discrete and runs.believed[r] < 0:
            take(runs, r, runs.defaults, r)
        else:
            take(runs, r, policy.actions, max(0, runs.chosen_action[r]))


def vote(policy: Policy, runs: Runs) -> None:
    """Choose what is best in most of the particles (Simmons and Koenig, 1995), and of these the best by the values, where no cluster is
    believed in."""
    m = policy.scored
    for r in range(runs.n_runs):
        if runs.chosen_action[r] < 0 or runs.believed[r] >= 0:
            continue
        for a in range(len(runs.votes)):
            runs.votes[a] = 0
        for i in range(r * m, r * m + m):
            if runs.scored_alive[i] and runs.totals[i] > -math.inf:
                runs.votes[runs.favourites[i]] += 1
        best = runs.chosen_action[r]
        for a in range(len(runs.votes)):
            if runs.votes[a] > runs.votes[best] or (runs.votes[a] == runs.votes[best] and runs.q[r, a] > runs.q[r, best]):
                best = a
        runs.chosen_action[r] = best


@noinline
def seek(policy: Policy, runs: Runs, seed: int) -> None:
    """Let the runs that seek take the action after which the fewest steps are left, and the one that tells once they are there. After
    `score`, of the same particles."""
    m, count = policy.scored, runs.n_runs * policy.scored
    some, seeking, numbers = runs.scored[:count], runs.seeking[:count], runs.scored_numbers[:count]
    after, rewards, arrived = runs.scored_after[:count], runs.scored_rewards[:count], runs.scored_arrived[:count]
    forest, seekers = policy.routes, 0
    for i in range(count):
        seeking[i] = runs.kind[i // m] == SEEK and runs.scored_alive[i] and runs.chosen_action[i // m] >= 0
        seekers += int(seeking[i])
    if seekers == 0:
        return
    for a in range(len(policy.actions)):
        policy.simulator.step(some, seeking, policy.actions[a : a + 1], hash_key(seed, a, 0), numbers, after, rewards, arrived)
        for r in range(runs.n_runs):
            runs.left[r, a], live = 0.0, 0
            for i in range(r * m, r * m + m):
                if seeking[i]:
                    live += 1
                    if not arrived[i]:
                        runs.left[r, a] += FAR
                        continue
                    for tree in range(runs.sought[r] * TREES, (runs.sought[r] + 1) * TREES):
                        runs.left[r, a] += forest.values[leaf_of(forest, after, i, tree), 0]
            runs.left[r, a] /= max(1, live)
    for r in range(runs.n_runs):
        if runs.kind[r] == SEEK and runs.chosen_action[r] >= 0:
            best, tells = runs.chosen_action[r], policy.tells[runs.sought[r]]
            for a in range(len(policy.actions)):
                if runs.legal[r, a] and runs.left[r, a] < runs.left[r, best]:
                    best = a
            if tells >= 0 and runs.legal[r, tells] and steps_left(policy, runs, r) < ARRIVED:
                best = tells
                runs.kind[r] = FOLLOW  # from the next step on
            elif tells < 0 and runs.left[r, best] < ARRIVED:
                runs.kind[r] = FOLLOW
            runs.chosen_action[r] = best


def steps_left(policy: Policy, runs: Runs, r: int) -> float:
    """Of a run that seeks: the mean over its particles."""
    m, live, total = policy.scored, 0, 0.0
    for i in range(r * m, r * m + m):
        if runs.seeking[i]:
            live += 1
            for tree in range(runs.sought[r] * TREES, (runs.sought[r] + 1) * TREES):
                total += policy.routes.values[leaf_of(policy.routes, runs.scored, i, tree), 0]
    return total / max(1, live)


def is_forced(policy: Policy, runs: Runs, r: int, t: int) -> bool:
    """Whether a run is given its action at step t; it goes its own way from where that is not legal."""
    if runs.kind[r] != FORCED or t >= runs.steps[r]:
        return False
    if t > 0 and policy.simulator.is_restricted and not runs.legal[r, int(runs.forced[r, t, 0])]:
        runs.steps[r] = t
        return False
    return True


def take(runs: Runs, r: int, actions: Any, i: int) -> None:
    """Let a run take row i of the actions."""
    for row in range(r * runs.n_particles, (r + 1) * runs.n_particles):
        for k in range(actions.shape[1]):
            runs.row_actions[row, k] = actions[i, k]


def depart(policy: Policy, runs: Runs, seed: int) -> None:
    """Choose by the default policy or blindly, where that is legal and no cluster is believed in."""
    count, n = runs.n_runs, runs.n_particles
    states, alive = runs.drawn[:count], runs.drawn_alive[:count]
    own = new_stream()
    for r in range(count):
        own.reseed(seed, 0, runs.world[r])
        row = r * n + 1 + own.integer(n - 1)
        alive[r] = runs.chosen_action[r] >= 0 and runs.alive[row]
        for k in range(runs.states.shape[1]):
            states[r, k] = runs.states[row, k]
    if policy.way == DEFAULT:
        policy.simulator.default_actions(states, alive, seed, runs.world[:count], runs.defaults[:count])
    for r in range(count):
        a = int(runs.defaults[r, 0]) if policy.way == DEFAULT else policy.blind
        if runs.believed[r] >= 0:
            continue
        if alive[r] and (policy.discrete or policy.way == BLIND):
            runs.chosen_action[r] = a if runs.legal[r, a] else first_of(runs.legal[r])
        elif not alive[r]:
            for k in range(policy.actions.shape[1]):
                runs.defaults[r, k] = policy.actions[max(0, runs.chosen_action[r]), k]


@noinline
def advance(policy: Policy, runs: Runs, factor: float, seed: int) -> int:
    """One step of every run; how many go on."""
    n, total = runs.n_particles, runs.n_runs * runs.n_particles
    states, alive = runs.states[:total], runs.alive[:total]
    for r in range(runs.n_runs):
        if runs.chosen_action[r] < 0:
            for row in range(r * n, r * n + n):
                alive[row] = False
    numbers, actions = runs.numbers[:total], runs.row_actions[:total]
    policy.simulator.step(states, alive, actions, seed, numbers, runs.after[:total], runs.rewards[:total], runs.arrived[:total])
    going = 0
    for r in range(runs.n_runs):
        runs.returns[r] += factor * runs.rewards[r * n]
        if runs.arrived[r * n]:
            runs.truths[going] = r
            runs.observing[going] = r * n
            going += 1
        else:
            for row in range(r * n, r * n + n):
                alive[row] = runs.arrived[row] = False
    if going == 0:
        return 0
    seen = runs.observations[:going]
    for j in range(going):
        runs.chosen_action[j] = numbers[runs.observing[j]]  # it has served
    policy.observe(runs.after[:total], runs.observing[:going], actions, seed, runs.chosen_action[:going], seen)
    for j in range(going):  # where each run's observation stands
        runs.seen_as[runs.truths[j]] = j
    for row in range(total):
        runs.run_of[row] = runs.seen_as[row // n] if runs.arrived[row] else 0
    policy.weigh(runs.after[:total], runs.arrived[:total], seen, runs.run_of[:total], actions, runs.logs[:total])
    moving = 0
    for row in range(total):
        runs.spreading[row] = False
    for j in range(going):
        r = runs.truths[j]
        resample(runs, r, hash_key(seed, 7, runs.world[r]))
        if runs.effective > 0.0:
            moving += propose(policy, runs, r, hash_key(seed, 8, runs.world[r]))
    if moving > 0:
        spread(policy, runs, seen, seed)
    return going


@kernel
def choose_one(policy: Policy, runs: Runs, states: Any, weights: Any, labels: Any, seed: int) -> int:
    """What a policy does at a belief, as the first run."""
    set_runs(runs, states, weights, labels, seed)
    choose_actions(policy, runs, 0, seed)
    return int(runs.chosen_action[0])


@kernel
def compare_actions(policy: Policy, runs: Runs, actions: Any, seed: int, out: Any) -> None:
    """out [n]: the q of any actions, at the belief that the first run was scored at, all of them with the same chances."""
    m = policy.scored
    some, alive, numbers = runs.scored[:m], runs.scored_alive[:m], runs.scored_numbers[:m]
    after, rewards, arrived = runs.scored_after[:m], runs.scored_rewards[:m], runs.scored_arrived[:m]
    for i in range(len(actions)):
        policy.simulator.step(some, alive, actions[i : i + 1], seed, numbers, after, rewards, arrived)
        policy.value(after, arrived, runs.values[:m], 0)
        total, count = 0.0, 0
        for j in range(m):
            if alive[j]:
                total += rewards[j] + (policy.simulator.discount * best_value(policy, runs.values, j) if arrived[j] else 0.0)
                count += 1
        out[i] = total / max(1, count)


@kernel
def roll_out(policy: Policy, runs: Runs, states: Any, weights: Any, labels: Any, horizon: int, seed: int) -> int:
    """Fill `returns`: what each run earns, from particles of a belief on, as its kind and what it believes say. Where time is up, or
    after `cut` steps, what the policy still promises counts for the rest. How many steps were made."""
    set_runs(runs, states, weights, labels, hash_key(seed, -1, 0))
    factor = 1.0
    for t in range(horizon):
        is_last = t > 0 and (t == runs.cut or now() >= runs.deadline)
        if is_last:
            for r in range(runs.n_runs):
                runs.believed[r] = -1
        choose_actions(policy, runs, t, hash_key(seed, t, 0))
        if is_last:
            for r in range(runs.n_runs):
                if runs.chosen_action[r] >= 0:
                    runs.returns[r] += factor * (runs.q[r, best_of(runs.q[r])] - policy.bias)
            return t
        if advance(policy, runs, factor, hash_key(seed, t, 1)) == 0:
            break
        for r in range(runs.n_runs):
            if runs.kind[r] == FORCED and t + 1 < runs.steps[r] and runs.alive[r * runs.n_particles] and surprise(runs, r) > SEEN:
                runs.steps[r] = t + 1
        factor *= policy.simulator.discount
    return horizon


@kernel
def inform(policy: Policy, runs: Runs, states: Any, weights: Any, allowed: Any, seed: int, information: Any) -> None:
    """information [A]: how much is expected to be learned from the observation after each allowed action, in nats: the mean of
    KL(posterior || prediction) over the worlds. Runs are actions, one world after the other."""
    n, actions = runs.n_particles, len(policy.actions)
    set_runs(runs, states, weights, np.zeros(len(weights), np.int64), hash_key(seed, -1, 0))
    for a in range(actions):
        information[a] = 0.0
    for r in range(runs.n_runs):
        runs.chosen_action[r] = r % actions if allowed[r % actions] else -1
        for row in range(r * n, r * n + n):
            for k in range(policy.actions.shape[1]):
                runs.row_actions[row, k] = policy.actions[r % actions, k]
    if advance(policy, runs, 0.0, hash_key(seed, 0, 1)) == 0:
        return
    for r in range(runs.n_runs):
        if runs.alive[r * n]:
            information[r % actions] += surprise(runs, r) * actions / runs.n_runs


def information_on(runs: Runs, r: int, component: int) -> tuple[float, float]:
    """Nats that the last observation of a run told of one number of the state, as of a normal one: half the log of by how much its variance
    has shrunk. And the variance before."""
    n, peak = runs.n_particles, -math.inf
    for row in range(r * n + 1, r * n + n):
        peak = max(peak, runs.logs[row])
    before = total = mean = mean_before = square = square_before = 0.0
    for row in range(r * n + 1, r * n + n):
        if runs.arrived[row]:
            x = runs.after[row, component] - runs.after[r * n, component]
            weight = exp(runs.logs[row] - peak) if runs.logs[row] > -math.inf else 0.0
            before, mean_before, square_before = before + 1.0, mean_before + x, square_before + x * x
            total, mean, square = total + weight, mean + weight * x, square + weight * x * x
    if before == 0.0 or total == 0.0:
        return 0.0, 0.0
    spread = square_before / before - (mean_before / before) ** 2
    left = square / total - (mean / total) ** 2
    if spread <= NOTHING:
        return 0.0, 0.0
    return 0.5 * min(MOST_TOLD, math.log(spread / left) if left > 0.0 else MOST_TOLD), spread


def surprise(runs: Runs, r: int) -> float:
    """KL of a run's weights from equal ones, after an observation."""
    n, peak, total, mean = runs.n_particles, -math.inf, 0.0, 0.0
    for row in range(r * n + 1, r * n + n):
        peak = max(peak, runs.logs[row])
    for row in range(r * n + 1, r * n + n):
        if runs.logs[row] > -math.inf:
            weight = exp(runs.logs[row] - peak)
            total += weight
            mean += weight * (runs.logs[row] - peak)
    return math.log(n - 1) + mean / total - math.log(total) if total > 0.0 else math.log(n - 1)
