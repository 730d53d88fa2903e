"""The bridge from a belief to its posterior: serial work and passes over the particles by turns, as one kernel.

`lead` does the serial work up to the next pass over the particles and names that pass; `run_pass` does the pass for one
chunk of particles with a stream of the chunk's own, so that chunks may run in threads and give the same result to the last
bit. One thread runs the kernel alone, or several run it together.
"""

from __future__ import annotations

import functools
import math
from typing import Any

from airoas.belief.tempering import moves
from airoas.belief.tempering.cloud import CHUNK, copy_particle
from airoas.belief.tempering.crew import tell, wait_for
from airoas.belief.tempering.ladder import (
    BETA,
    FIRST_END,
    GATHER,
    PASS,
    PEAK,
    PHASE,
    PREDICT_AGAIN,
    SETTLE,
    TEMPER,
    TOTAL,
    Work,
    lead,
    sides,
)
from airoas.belief.tempering.moves import likelihood_of
from airoas.belief.tempering.noise_record import tape
from airoas.belief.tempering.temper import INCREMENT, settle, temper
from airoas.compiler.kernels import Kernel, kernel
from airoas.compiler.specialise import apart
from airoas.compiler.vector_exp import exp

MOVES: dict[str, Any] = {
    "move": moves.own_move,
    "gibbs": moves.gibbs,
    "mutate": moves.mutation,
    "ancestors": moves.ancestors_and_noise,
    "walk": moves.walk,
    "resimulate": moves.resimulation,
}

SERIAL, PRESENT = -2, -1  # instead of a thread's number
APART = 8  # numbers of threads lie a cache line from each other
ALIVE = 1e-300  # the temperature just above 0, at which only a likelihood of 0 counts


def _predict(model: Any, work: Work, lo: int, hi: int, rng: Any) -> None:
    """Simulate each ancestor one step, its draws on tape, and weigh the observation."""
    cloud, _ = sides(work)
    a = model.read_action(work.actions, 0)
    o = model.read_observation(work.observations, 0)
    for i in range(lo, hi):
        s = model.read_state(cloud.ancestors, i)
        if cloud.log_weights[i] == -math.inf or model.is_terminal(s):  # the episode would have ended there
            cloud.log_weights[i] = -math.inf
            cloud.log_likelihoods[i] = -math.inf
            model.write_state(cloud.states, i, s)
            continue
        for k in range(cloud.tapes.shape[1]):
            cloud.tapes[i, k] = 0.0
        s2, _ = model.step(s, a, tape(rng, cloud.tapes, i))
        cloud.log_likelihoods[i] = likelihood_of(model, o, s2, a, work.scales, i)
        model.write_state(cloud.states, i, s2)


@apart
def _gather(work: Work, lo: int, hi: int) -> None:
    cloud, spare = sides(work)
    equal = -math.log(len(work.chosen))
    for j in range(lo, hi):
        copy_particle(spare, j, cloud, work.chosen[j])
        spare.log_weights[j] = equal
        spare.weights[j] = 1.0 / len(work.chosen)


@functools.cache
def bridge_by(name: str) -> Kernel:
    """`bridge` as a kernel; sweeps are `MOVES[name]`."""
    sweep = MOVES[name]

    def run_pass(model: Any, work: Work, phase: int, chunk: int, seed: int, rng: Any) -> None:
        """One chunk of a pass, with the stream of (seed, pass, chunk)."""
        lo = chunk * CHUNK
        hi = min(len(work.chosen), lo + CHUNK)
        cloud, spare = sides(work)
        if phase <= PREDICT_AGAIN:
            own = rng.local()
            own.reseed(seed, int(work.numbers[PASS]), chunk)
            _predict(model, work, lo, hi, own)
        elif phase == TEMPER:
            sums = work.sums
            sums[chunk, 0], sums[chunk, 1], sums[chunk, 2] = temper(
                cloud.log_weights[lo:hi], cloud.log_likelihoods[lo:hi], work.search[INCREMENT], cloud.weights[lo:hi]
            )
        elif phase == SETTLE:
            peak, total = work.numbers[PEAK], work.numbers[TOTAL]
            settle(
                cloud.log_weights[lo:hi],
                cloud.log_likelihoods[lo:hi],
                work.search[INCREMENT],
                peak + math.log(total),
                cloud.weights[lo:hi],
                exp(work.sums[chunk, 0] - peak),
                total,
            )
        elif phase == GATHER:
            _gather(work, lo, hi)
        else:
            a = model.read_action(work.actions, 0)
            o = model.read_observation(work.observations, 0)
            other = rng.local()  # not the same as above: a stream that a tape points to does not stay in registers
            other.reseed(seed, int(work.numbers[PASS]), chunk)
            sweep(model, cloud, spare, lo, hi, a, o, max(work.numbers[BETA], ALIVE), work.scales, other)

    def bridge(model: Any, work: Work, thread: int, threads: int, seed: int, rng: Any) -> int:
        """How the bridge ended. Thread 0 leads and does the serial work; each takes its share of every pass.

        thread: or SERIAL, the work up to the next pass alone, or PRESENT, the present pass alone. At place APART * k of `turns`
        stands the pass that thread k is through with, that of thread 0 begun; -1 before.
        """
        chunks = len(work.sums)
        first, last = (chunks * thread // threads, chunks * (thread + 1) // threads) if thread >= 0 else (0, chunks)
        turn = 0
        if thread > 0:
            tell(work.turns, APART * thread, turn)
        while True:
            turn += 1
            if thread > 0:
                wait_for(work.turns, 0, turn)
            elif thread != PRESENT:
                work.numbers[PHASE] = lead(work, rng)
                tell(work.turns, 0, turn)
            phase = int(work.numbers[PHASE])
            if phase >= FIRST_END or thread == SERIAL:
                return phase
            for chunk in range(first, last):
                run_pass(model, work, phase, chunk, seed, rng)
            if thread == PRESENT:
                return phase
            if thread > 0:
                tell(work.turns, APART * thread, turn)
            for other in range(1, threads if thread == 0 else 0):
                wait_for(work.turns, APART * other, turn)

    return kernel(bridge)
