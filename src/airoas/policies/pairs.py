"""What describes an action at a belief, for a correction that all actions share.

Where actions are many and each is tried at few beliefs, what is learned of one should serve for those like it. An action is described
by what it does at the belief: what QMDP thinks of it, its reward, how many particles go on and where to, and what its observation would
tell: in nats, and in value, which is how much better the best action would be after what some of the particles would see (the
myopic value of information; Howard, 1966).
"""

from __future__ import annotations

import math
from typing import Any

from airoas.compiler.vector_exp import exp
from airoas.rng import hash_key, new_stream

TRUTHS = 2
"""Of the particles that are scored, those whose observation is imagined after each action."""
_LACK, _REWARD, _GOING, _TOLD, _GAIN, _MEANS = range(6)


def n_options(components: int) -> int:
    """Numbers that describe an action at a belief, its row aside."""
    return _MEANS + components


def imagine(policy: Any, runs: Any, a: int, seed: int) -> None:
    """Sum up over the particles that were scored where action a leads, and weigh them by what some of them see there."""
    m, count = policy.scored, runs.n_runs * policy.scored
    after, arrived = runs.scored_after[:count], runs.scored_arrived[:count]
    for r in range(runs.n_runs):
        option = runs.options[r, a]
        for k in range(len(option)):
            option[k] = 0.0
        for i in range(r * m, r * m + m):
            if runs.scored_alive[i]:
                option[_REWARD] += runs.scored_rewards[i]
                option[_GOING] += 1.0 if arrived[i] else 0.0
            if runs.scored_alive[i] and arrived[i]:
                for c in range(len(policy.components)):
                    option[_MEANS + c] += after[i, policy.components[c]]
    own, action = new_stream(), policy.actions[a : a + 1]
    for t in range(TRUTHS):
        going = 0
        for r in range(runs.n_runs):
            own.reseed(seed, t, runs.world[r])
            truth = r * m + (t * m + own.integer(m)) // TRUTHS
            for i in range(r * m, r * m + m):
                ends = runs.scored_alive[i] and not arrived[i]  # which is seen
                runs.posteriors[i, a, t] = 1.0 if ends and runs.scored_alive[truth] and not arrived[truth] else 0.0
                runs.imagined_of[i] = going
            if runs.scored_alive[truth] and arrived[truth]:
                runs.imagining[going], runs.imagined_numbers[going] = truth, runs.scored_numbers[truth]
                going += 1
        if going == 0:
            continue
        for i in range(count):
            runs.imagined_of[i] = min(runs.imagined_of[i], going - 1)
        seen, numbers, logs = runs.imagined[:going], runs.imagined_numbers[:going], runs.imagined_logs[:count]
        policy.observe(after, runs.imagining[:going], action, hash_key(seed, t, 1), numbers, seen)
        policy.weigh(after, arrived, seen, runs.imagined_of[:count], action, logs)
        for g in range(going):
            first, peak = runs.imagining[g] // m * m, -math.inf
            for i in range(first, first + m):
                peak = max(peak, logs[i])
            for i in range(first, first + m):
                runs.posteriors[i, a, t] = exp(logs[i] - peak) if logs[i] > -math.inf else 0.0


def describe_options(policy: Any, runs: Any, r: int, count: int) -> None:
    """Make of a run's sums what describes each action, after its belief was described. count: how many of its particles were scored."""
    m, lacks = policy.scored, len(runs.features[r]) - 2 - len(policy.actions)
    for a in range(len(policy.actions)):
        option, going = runs.options[r, a], runs.options[r, a, _GOING]
        option[_LACK] = runs.features[r, lacks + a]
        option[_REWARD] /= max(1, count)
        option[_GOING] /= max(1, count)
        for k in range(_MEANS, len(option)):
            option[k] /= max(1.0, going)
        for t in range(TRUTHS):
            total = entropy = 0.0
            for i in range(r * m, r * m + m):
                weight = runs.posteriors[i, a, t]
                total += weight
                entropy -= weight * math.log(weight) if weight > 0.0 else 0.0
            if total > 0.0:
                option[_TOLD] += (math.log(count) - entropy / total - math.log(total)) / TRUTHS
                option[_GAIN] += (best_after(policy, runs, r, a, t, total) - runs.features[r, lacks + len(policy.actions)]) / TRUTHS


def best_after(policy: Any, runs: Any, r: int, a: int, t: int, total: float) -> float:
    """What the best action would promise at a run's belief after what was imagined."""
    m, best = policy.scored, -math.inf
    for b in range(len(policy.actions)):
        if runs.legal[r, b]:
            q = 0.0
            for i in range(r * m, r * m + m):
                if runs.posteriors[i, a, t] > 0.0:
                    q += runs.posteriors[i, a, t] * runs.each[i, b]
            best = max(best, q / total)
    return best


def describe_pair(policy: Any, features: Any, option: Any, a: int, row: Any) -> None:
    """row [.]: a belief, by its features but for those of single actions, with one of its actions."""
    first, actions = len(features) - 2 - len(policy.actions), policy.actions.shape[1]
    for f in range(first):
        row[f] = features[f]
    row[first], row[first + 1] = features[len(features) - 2], features[len(features) - 1]
    for k in range(len(option)):
        row[first + 2 + k] = option[k]
    for k in range(actions):
        row[first + 2 + len(option) + k] = policy.actions[a, k]
