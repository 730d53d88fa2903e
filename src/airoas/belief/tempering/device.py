"""Tempering on a GPU: the algorithm of `temper` runs here, its loops over particles are launches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from airoas.belief import resampling
from airoas.belief.tempering import clusters, schedule, smoothing, system, temper
from airoas.belief.tempering.moves import Swept, sweep
from airoas.belief.tempering.system import Proposals
from airoas.belief.tempering.temper import Tempering
from airoas.compiler.device import MOST_LANES, Device, DeviceArray, DeviceRecord, conducted
from airoas.compiler.kernels import Kernel, kernel
from airoas.compiler.lanes import lane, lanes
from airoas.modelling.rows import Indices, Reals, Rows, Weights


def move_to(device: Device, work: Tempering, n: int) -> DeviceRecord:
    """A tempering of n particles there."""
    rows = {name: (n, getattr(work.first, name).shape[1]) for name in ("ancestors", "centres", "records", "states")}
    each = dict.fromkeys(("labels", "alive", "log_weights", "weights", "log_likelihoods", "chosen", "rewards", "numbers"), (n,))
    remote = DeviceRecord(device, work, {**rows, **each, "row": (1, n), "z": (MOST_LANES, work.proposals.means.shape[1])})
    device.launch(_number, n, remote.numbers)
    return remote


@kernel
def _number(numbers: Indices) -> None:
    for i in lanes(len(numbers)):
        numbers[i] = i


@functools.cache
def temper_on(device: Device) -> Callable[[DeviceRecord, int], int]:
    """`temper` for temperings that are there."""

    def launched(function: Any) -> Callable[..., Any]:
        loop = kernel(function)
        return lambda *arguments: device.launch(loop, _length(arguments), *arguments)

    def folded(function: Any, largest: bool = False, whole: bool = False) -> Callable[..., Any]:
        loop = kernel(function)

        def call(*arguments: Any) -> Any:
            values = device.fold(loop, _length(arguments), *arguments, largest=largest)
            numbers = [int(x) for x in values] if whole else values
            return numbers[0] if len(numbers) == 1 else tuple(numbers)

        return call

    swept = folded(sweep, whole=True)
    instead: dict[Any, Callable[..., Any]] = {
        sweep: lambda *arguments: Swept(*swept(*arguments)),
        temper.predict_particles: folded(temper.predict_particles, whole=True),
        system.count_fractional: folded(system.count_fractional, whole=True),
        schedule.peak_of: folded(schedule.peak_of, largest=True),
        smoothing.farthest_below: folded(smoothing.farthest_below, largest=True),
        clusters.find_clusters: lambda *arguments: None,  # all of them are one
        system.fill_moments: functools.partial(_fill_moments, device),
        resampling.choose: lambda weights, method, rng, chosen: choose_on(device, weights, rng.uniform(), chosen),
    }
    sums: tuple[Any, ...] = schedule.weigh_at, system.mean_of, system.covariance_of, smoothing.sum_of_squares
    of_draws: tuple[Any, ...] = system.sum_of_draw, system.squares_of_draw
    loops: tuple[Any, ...] = temper.clear, temper.bring_to_life, temper.divide, temper.survive, smoothing.scatter, schedule.take_step
    instead |= {function: folded(function) for function in sums + of_draws}
    instead |= {function: launched(function) for function in loops}
    return conducted(temper.temper, instead)


def _length(arguments: tuple[Any, ...]) -> int:
    """How many particles these are about."""
    for argument in arguments:
        if isinstance(argument, DeviceArray):
            return len(argument)
        if isinstance(argument, DeviceRecord):
            return len(argument.chosen if "chosen" in argument.kind.fields else argument.alive)
    raise AssertionError("about no particles")


# --- means and covariances: many sums in two launches ---


def _fill_moments(device: Device, rows: DeviceArray, weights: DeviceArray, proposals: Any) -> None:
    d = proposals.n_axes
    proposals.masses[0] = 1.0
    if d:
        proposals.means[0, :d] = _table_of(device, _means, d, rows, weights, proposals)
        proposals.spreads[0, :d, :d] = np.reshape(_table_of(device, _covariances, d * d, rows, weights, proposals), (d, d))


def _table_of(device: Device, kernel: Kernel, count: int, rows: DeviceArray, weights: DeviceArray, proposals: Any) -> list[float]:
    table = device.table(count)
    threads = device.launch(kernel, len(rows), rows, weights, proposals, table)
    return device.fold_table(table, count, threads)


@kernel
def _means(rows: Rows, weights: Weights, proposals: Proposals, table: Reals) -> None:
    for k in range(proposals.n_axes):
        table[k, lane()] = system.mean_of(rows, weights, proposals.axes[k])


@kernel
def _covariances(rows: Rows, weights: Weights, proposals: Proposals, table: Reals) -> None:
    means, axes, d = proposals.means, proposals.axes, proposals.n_axes
    for k in range(d):
        for j in range(d):
            table[k * d + j, lane()] = system.covariance_of(rows, weights, axes[k], means[0, k], axes[j], means[0, j])


# --- systematic resampling: running sums in pieces, then a search for each survivor ---

_PIECE = 128


def choose_on(device: Device, weights: DeviceArray, offset: float, chosen: DeviceArray) -> None:
    """As `choose`: at the same place of every slice."""
    n = len(weights)
    pieces = (n + _PIECE - 1) // _PIECE
    sums, before, running = device.allocate((pieces,)), device.allocate((pieces,)), device.allocate((n,))
    device.launch(_sum_pieces, pieces, weights, sums)
    ends = np.cumsum(sums.get())
    before.set(np.concatenate([[0.0], ends[:-1]]))
    device.launch(_accumulate, pieces, weights, before, running)
    device.launch(_search, len(chosen), running, float(ends[-1]), offset, chosen)


@kernel
def _sum_pieces(weights: Weights, sums: Reals) -> None:
    for p in lanes(len(sums)):
        total = 0.0
        for i in range(p * _PIECE, min((p + 1) * _PIECE, len(weights))):
            total += weights[i]
        sums[p] = total


@kernel
def _accumulate(weights: Weights, before: Reals, running: Reals) -> None:
    for p in lanes(len(before)):
        total = 0.0
        for i in range(p * _PIECE, min((p + 1) * _PIECE, len(weights))):
            total += weights[i]
            running[i] = before[p] + total


@kernel
def _search(running: Reals, total: float, offset: float, chosen: Indices) -> None:
    """The first particle whose running sum is beyond the point; the last of positive weight where rounding leaves none."""
    slice_width = total / len(chosen)
    for j in lanes(len(chosen)):
        point = (j + offset) * slice_width
        low, high = 0, len(running) - 1
        while low < high:
            middle = (low + high) // 2
            if running[middle] > point or running[middle] >= total:
                high = middle
            else:
                low = middle + 1
        chosen[j] = low
