"""Does a simulator follow a density? A test that needs nothing but draws and the log density.

For any distribution q and bounded function h, the mean of h q / (p + q) over draws from p equals the mean of h p / (p + q) over
draws from q: both are the integral of h p q / (p + q), the identity of bridge sampling (Meng and Wong, 1996). All terms are
bounded, so the test holds for every p, with heavy tails, atoms or many dimensions. q is fitted to draws that are not used again:
observed values for what repeats, mixtures of normals for what does not. h = 1 sees a wrong normalisation or support, the others a
wrong centre, spread, correlation or frequency of a value.

False alarms: each comparison allows what Bernstein's inequality does at the level `FALSE_ALARM` divided by the number of
comparisons, with the variances estimated from at least `_DRAWS` draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from airoas.rng import Rng, stream, streams

FALSE_ALARM = 1e-7
"""How likely `disagreement` finds something between a simulator and its own density."""
_DRAWS = 4000
_MANY = 40_000  # draws from q alone, which cost no call of the density
_MOST_ATOMS = 20  # a column with more values that repeat is discrete throughout
_LEAST_REPEATS = 8  # in a column that is continuous otherwise, a value that repeats so often is an atom
_MOST_VALUES = 8  # values whose frequencies are compared one by one
_WIDE = 0.1  # fraction of q that is wider than the draws
_LOG_2PI = math.log(2.0 * math.pi)


class Claim(NamedTuple):
    """A simulator and the log density that it should follow, both at one site."""

    draw: Callable[[Rng], tuple[Any, ...]]
    log_density: Callable[[Any], float]
    part: int = 0
    """Draw i comes from the stream (seed, part, i)."""
    draw_many: Callable[[int, int], list[Any] | None] = lambda seed, n: None
    """The same draws at once, from a seed; None where one by one is as good."""
    log_densities: Callable[[list[Any]], list[float] | None] = lambda values: None


def disagreement(claims: Sequence[Claim], fields: Sequence[str] = ()) -> tuple[int, str] | None:
    """The claim that is furthest from true and what is wrong, in words; None where all hold.

    The claims are about sites of one model, each a state and an action: what is slightly wrong everywhere shows in the sum over
    them. A density is asked only for values within the range of all draws, so it need not be right where nothing is ever drawn.
    """
    sides = [_Side(claim, site, fields) for site, claim in enumerate(claims)]
    for site, side in enumerate(sides):
        if side.draws_problem:
            return site, side.draws_problem
    ranges = np.array([[side.fitted_to.min(axis=0), side.fitted_to.max(axis=0)] for side in sides])
    low, high = ranges[:, 0].min(axis=0), ranges[:, 1].max(axis=0)
    for site, side in enumerate(sides):
        side.compare(low, high)
        if side.density_problem:
            return site, side.density_problem
    comparisons = sum(len(side.gaps) for side in sides) + len({name for side in sides for name in side.gaps})
    level = math.log(2.0 * max(comparisons, 1) / FALSE_ALARM)

    def excess(gaps: Iterable[_Gap]) -> float:
        """The sum of the gaps as a multiple of what chance allows it to be."""
        summed = list(gaps)
        allowed = math.sqrt(2.0 * level * sum(gap.variance for gap in summed)) + level * max(gap.largest for gap in summed) / 3.0
        return abs(sum(gap.value for gap in summed)) / allowed

    alone = {(site, name): excess([gap]) for site, side in enumerate(sides) for name, gap in side.gaps.items()}
    names = {name for _, name in alone}
    pooled = {name: excess(side.gaps[name] for side in sides if name in side.gaps) for name in names}
    if max((*alone.values(), *pooled.values()), default=0.0) <= 1.0:
        return None
    site, _ = max(alone, key=lambda item: alone[item])
    telling = sorted(sides[site].gaps, key=lambda name: -max(alone[site, name], pooled[name]))
    return site, sides[site].words(telling)


class _Gap(NamedTuple):
    """A difference of means, its variance, and the largest part that one draw has in it."""

    value: float
    variance: float
    largest: float


_Words = tuple[str, tuple[str, ...], tuple[float, ...], tuple[float, ...]]
"""Of what, which measures, their values in the draws and by the density."""


class _Side:
    """One claim: its draws, the distribution fitted to some of them, and how far the rest is from the density."""

    def __init__(self, claim: Claim, site: int, fields: Sequence[str]) -> None:
        self._claim, self._fields = claim, fields
        rng = stream(site, "density test")
        self._random = np.random.default_rng(rng.bits(63))
        fitted_to, ours = (self._draws(rng.bits(62)) for _ in range(2))
        self._make: Callable[[Any], Any] = getattr(type(ours[0]), "_make", tuple)
        self._kinds = [type(x) for x in ours[0]]
        self._known: dict[Any, float] = {}
        self.fitted_to, self._ours = np.array(fitted_to, dtype=np.float64), np.array(ours, dtype=np.float64)
        self._p_ours = self._log_densities(ours)
        self.draws_problem = self._impossible(ours)
        self.density_problem = ""
        self.gaps: dict[str, _Gap] = {}

    def _draws(self, seed: int) -> list[Any]:
        drawn = self._claim.draw_many(seed, _DRAWS)
        if drawn is None:
            drawn = [self._claim.draw(own) for own in streams(seed, self._claim.part, _DRAWS)]
        return drawn

    def _log_densities(self, values: list[Any]) -> np.ndarray:
        unknown = [x for x in dict.fromkeys(values) if x not in self._known]
        self._known.update(zip(unknown, self._claim.log_densities(unknown) or (), strict=False))
        return np.array([self._log_density(x) for x in values])

    def _log_density(self, x: tuple[Any, ...]) -> float:
        if x not in self._known:
            self._known[x] = float(self._claim.log_density(x))
        return self._known[x]

    def _impossible(self, ours: list[Any]) -> str:
        for x, log_p in zip(ours, self._p_ours, strict=True):
            if not math.isfinite(log_p):
                return f"{x!r} is drawn, but its log density is {log_p}"
        return ""

    def compare(self, low: np.ndarray, high: np.ndarray) -> None:
        q = _Fitted(self.fitted_to, [issubclass(kind, int) for kind in self._kinds])
        if not q.can_tell:
            return
        total = math.fsum(math.exp(min(log_p, 700.0)) for log_p in self._known.values()) if q.is_discrete else 0.0
        if total > 1.0 + 1e-6:
            self.density_problem = f"the probabilities of the {len(self._known)} values drawn sum to {total:.6g}, more than 1"
            return

        def inside(rows: np.ndarray) -> np.ndarray:
            return np.asarray(((rows >= low) & (rows <= high)).all(axis=1))

        theirs, many = q.draw(_DRAWS, self._random), q.draw(_MANY, self._random)
        theirs_in, many_in = inside(theirs), inside(many)
        p_theirs = np.full(_DRAWS, -math.inf)
        columns = [map(kind, column) for kind, column in zip(self._kinds, theirs[theirs_in].T.tolist(), strict=True)]
        values = [self._make(numbers) for numbers in zip(*columns, strict=True)]
        p_theirs[theirs_in] = self._log_densities(values)
        for x, log_p in zip(values, p_theirs[theirs_in], strict=True):
            if math.isnan(log_p) or log_p == math.inf:
                self.density_problem = f"the log density of {x!r} is {log_p}"
                return
        ratio = _fraction(q.log_density(self._ours), self._p_ours) * inside(self._ours)
        other = _fraction(p_theirs, q.log_density(theirs)) - 0.5  # less its value where p = q, known better from `many`
        names, ours_h, theirs_h, many_h = zip(*q.functions(self._ours, theirs, many), strict=True)
        for name, h_ours, h_theirs, h_many in zip(names, ours_h, theirs_h, many_h, strict=True):
            left, right, centre = h_ours * ratio, h_theirs * other * theirs_in, 0.5 * h_many * many_in
            variance = (left.var() + right.var()) / _DRAWS + centre.var() / _MANY
            # `many` sees the rare values that the draws may have missed on both sides
            largest = max(np.abs(terms - terms.mean()).max() for terms in (left, right, centre)) / _DRAWS + 1e-9
            self.gaps[name] = _Gap(float(left.mean() - right.mean() - centre.mean()), float(variance), float(largest))
        weights = np.where(theirs_in, np.exp(np.minimum(p_theirs - q.log_density(theirs), 50.0)), 0.0)
        self._theirs, self._weights = theirs, weights

    def words(self, telling: list[str]) -> str:
        """What differs, in numbers that a person can look for in the two methods; the most telling difference comes first."""
        mass = float(self._weights.mean())
        telling = sorted(telling, key=lambda name: not name.startswith("value"))  # the plainest words first; the sort is stable
        for name in telling if 0.7 < mass < 1.4 else ():
            kind, _, which = name.partition(" ")
            if kind == "mass":
                if not 0.97 < mass < 1.03:
                    break
            else:
                what, measures, drawn, claimed = getattr(self, f"_{kind}")(*which.split(","))
                if np.abs(np.subtract(drawn, claimed)).max() > 0.02 * np.abs((drawn, claimed)).max():
                    ours, theirs = (" and ".join(f"{m} {x:.4g}" for m, x in zip(measures, told, strict=True)) for told in (drawn, claimed))
                    return f"{what} {ours} in the draws, {theirs} by the density"
        if 0.97 < mass < 1.03:
            return "the draws are not spread as the density says"
        return f"the density adds up to about {mass:.3g}, not to 1"

    def _value(self, *values: str) -> _Words:
        key = np.array(values, dtype=np.float64)
        held = ~np.isnan(key)
        drawn = float((self._ours[:, held] == key[held]).all(axis=1).mean())
        if held.all():
            claimed = math.exp(self._log_density(self._make([kind(x) for kind, x in zip(self._kinds, key, strict=True)])))
        else:
            claimed = float(self._weights @ (self._theirs[:, held] == key[held]).all(axis=1) / self._weights.sum())
        what = " and ".join(f"{self._name(int(j))} = {key[j]:g}" for j in np.flatnonzero(held))
        return f"{what} has", ("frequency",), (drawn,), (claimed,)

    def _correlation(self, *columns: str) -> _Words:
        i, j = map(int, columns)
        claimed = np.cov(self._theirs[:, [i, j]].T, aweights=self._weights)
        drawn = np.corrcoef(self._ours[:, i], self._ours[:, j])[0, 1]
        correlation = claimed[0, 1] / math.sqrt(claimed[0, 0] * claimed[1, 1])
        return f"{self._name(i)} and {self._name(j)} have", ("correlation",), (float(drawn),), (float(correlation),)

    def _centre(self, column: str) -> _Words:
        drawn, values = self._ours[:, int(column)], self._theirs[:, int(column)]
        mean = float(np.average(values, weights=self._weights))
        sd = math.sqrt(float(np.average((values - mean) ** 2, weights=self._weights)))
        return f"{self._name(int(column))} has", ("mean", "standard deviation"), (float(drawn.mean()), float(drawn.std())), (mean, sd)

    _spread = _centre

    def _name(self, column: int) -> str:
        return f"`{self._fields[column]}`" if self._fields else f"number {column}"


def _fraction(log_a: np.ndarray, log_b: np.ndarray) -> np.ndarray:
    """a / (a + b); 0 where a is 0."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isneginf(log_a), 0.0, 1.0 / (1.0 + np.exp(np.clip(log_b - log_a, -700.0, 700.0))))


class _Fitted:
    """A distribution with a density, fitted to rows [N, d]; int columns hold whole numbers.

    A row is its key, the components that are atoms (nan for the others), and the rest: a mixture of normals given the key.
    """

    def __init__(self, rows: np.ndarray, is_int: list[bool]) -> None:
        self._atoms: list[np.ndarray | None] = []  # None: every value is one
        self._round = np.zeros(rows.shape[1], dtype=np.bool_)
        for j, column in enumerate(rows.T):
            values, counts = np.unique(column, return_counts=True)
            whole = is_int[j] or bool((values == np.rint(values)).all())
            self._round[j] = whole and np.count_nonzero(counts == 1) > len(column) / 2  # so many that they are nearly continuous
            # Repeats are a sign of a grid, unless the values lie as close as floats can.
            coarse = len(values) > 1 and np.diff(values).min() > 16.0 * np.spacing(np.abs(values).max())
            discrete = whole or (coarse and np.count_nonzero(counts > 1) > _MOST_ATOMS)
            self._atoms.append(values[:0] if self._round[j] else None if discrete else values[counts >= _LEAST_REPEATS])
        keys, groups = self._groups(rows)
        values = keys[[members[0] for members in groups.values()]]
        free = np.isnan(values)
        varies = free.any(axis=1).tolist()
        patterns: dict[bytes, list[list[int]]] = {}
        for k, members in enumerate(groups.values()):
            if varies[k]:
                patterns.setdefault(free[k].tobytes(), []).append(members)
        self._values: dict[bytes, np.ndarray] = {}
        self._rest: dict[bytes, tuple[np.ndarray, _Normals]] = {}
        shared: dict[bytes, _Normals] = {}  # for keys with too few rows of their own
        self._probability: dict[bytes, float] = {}
        for k, (key, members) in enumerate(groups.items()):
            if varies[k]:
                alike = free[k].tobytes()
                enough = 40 * (1 + int(free[k].sum()))
                if sum(map(len, patterns[alike])) < enough:
                    continue  # q need not cover everything
                if len(members) < enough and alike not in shared:
                    shared[alike] = _Normals(rows[np.ix_(np.concatenate(patterns[alike]), free[k])])
                self._rest[key] = free[k], _Normals(rows[np.ix_(np.array(members), free[k])]) if len(members) >= enough else shared[alike]
            self._values[key], self._probability[key] = values[k], float(len(members))
        kept = sum(self._probability.values())
        self._probability = {key: count / kept for key, count in self._probability.items()}
        self._log_probability = {key: math.log(p) for key, p in self._probability.items()}
        self.is_discrete = not any(varies)
        self.can_tell = bool(self._probability) and all(normals.can_tell for _, normals in self._rest.values())
        self._centre = np.median(rows, axis=0)
        spread = np.subtract(*np.quantile(rows, [0.75, 0.25], axis=0)) / 1.349
        self._scale = np.where(spread > 0.0, spread, rows.std(axis=0))

    def _groups(self, rows: np.ndarray) -> tuple[np.ndarray, dict[bytes, list[int]]]:
        """The key of each row as numbers, and the numbers of the rows that have a key."""
        keys = rows + 0.0  # no negative zeros
        for column, atoms in zip(keys.T, self._atoms, strict=True):
            if atoms is not None:
                column[~np.isin(column, atoms)] = np.nan
        raw, width = keys.tobytes(), keys.itemsize * keys.shape[1]
        groups: dict[bytes, list[int]] = {}
        for i in range(len(keys)):
            groups.setdefault(raw[i * width : (i + 1) * width], []).append(i)
        return keys, groups

    def draw(self, n: int, random: np.random.Generator) -> np.ndarray:
        counts = random.multinomial(n, np.array(list(self._probability.values())))
        rows = np.repeat(np.array(list(self._values.values())), counts, axis=0)
        ends = np.cumsum(counts)
        for key, count, end in zip(self._probability, counts, ends, strict=True) if self._rest else ():
            if key in self._rest and count:
                free, normals = self._rest[key]
                rows[end - count : end, free] = normals.draw(int(count), random)
        rows[:, self._round] = np.rint(rows[:, self._round])
        return rows

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        densities = np.full(len(rows), -math.inf)
        for key, members in self._groups(rows)[1].items():
            if key in self._probability:
                densities[members] = self._log_probability[key]
                if key in self._rest:
                    free, normals = self._rest[key]
                    densities[members] += normals.log_density(rows[np.ix_(np.array(members), free)])
        return densities

    def functions(self, *samples: np.ndarray) -> Iterator[tuple[Any, ...]]:
        """Name, then the values in -1 .. 1 of a function at the rows of each sample."""
        yield "mass", *[np.ones(len(rows)) for rows in samples]
        vary = [j for j, scale in enumerate(self._scale) if scale > 0.0]
        scaled = [(rows - self._centre) / np.where(self._scale > 0.0, self._scale, 1.0) for rows in samples]
        for j in vary:
            yield f"centre {j}", *[np.clip(z[:, j] / 3.0, -1.0, 1.0) for z in scaled]
            yield f"spread {j}", *[np.clip((z[:, j] * z[:, j] - 1.0) / 8.0, -1.0, 1.0) for z in scaled]
            for i in range(j) if len(vary) <= 6 else ():
                if i in vary:
                    yield f"correlation {i},{j}", *[np.clip(z[:, i] * z[:, j] / 4.0, -1.0, 1.0) for z in scaled]
        for key in sorted(self._probability, key=lambda key: -self._probability[key])[:_MOST_VALUES] if len(self._probability) > 1 else ():
            values = self._values[key]
            held = ~np.isnan(values)
            if held.any():
                yield (
                    f"value {','.join(map(str, values.tolist()))}",
                    *[(rows[:, held] == values[held]).all(axis=1) * 1.0 for rows in samples],
                )


class _Normals:
    """A mixture of normal distributions fitted to rows [N, d]: of 1, 2, 4 and 8 the number that half the rows say fits the others best."""

    def __init__(self, rows: np.ndarray) -> None:
        self.can_tell = True
        spread = rows.std(axis=0)
        scaled = (rows - rows.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
        # Components that determine one another have no joint density: nothing to compare with.
        self.can_tell = bool(np.linalg.eigvalsh(np.cov(scaled.T).reshape(len(spread), -1))[0] > 1e-9)
        if not self.can_tell:
            return
        half = len(rows) // 2

        def score(k: int) -> float:
            self._fit(rows[:half], scaled[:half], k)
            return float(self.log_density(rows[half:]).mean())

        numbers = [k for k in (1, 2, 4, 8) if k == 1 or half >= 20 * k * (rows.shape[1] + 1)]
        self._fit(rows, scaled, max(numbers, key=score))

    def _fit(self, rows: np.ndarray, scaled: np.ndarray, k: int) -> None:
        centres = scaled[np.argsort(scaled[:, 0], kind="stable")[(2 * np.arange(k) + 1) * len(rows) // (2 * k)]]
        nearest = np.zeros(len(rows), dtype=int)
        for _ in range(10 if k > 1 else 0):
            nearest = ((scaled[:, None, :] - centres) ** 2).sum(axis=2).argmin(axis=1)
            centres = np.array([scaled[nearest == c].mean(axis=0) if (nearest == c).any() else centres[c] for c in range(k)])
        everywhere = np.cov(rows.T).reshape(rows.shape[1], -1)
        groups = [members for c in range(k) if len(members := rows[nearest == c]) > 5 * rows.shape[1]]
        kept = sum(map(len, groups))
        # one draw in ten from twice as wide, to ask the density where it should be zero
        self._components: list[tuple[float, np.ndarray, np.ndarray]] = [(_WIDE, rows.mean(axis=0), 2.0 * np.linalg.cholesky(everywhere))]
        for members in groups:
            # a little wider than the group, so that two points close together make no spike
            spread = np.cov(members.T).reshape(everywhere.shape) + 1e-6 * np.diag(np.diag(everywhere))
            self._components.append(((1.0 - _WIDE) * len(members) / kept, members.mean(axis=0), np.linalg.cholesky(spread)))

    def draw(self, n: int, random: np.random.Generator) -> np.ndarray:
        counts = random.multinomial(n, [weight for weight, _, _ in self._components])
        drawn = [
            mean + random.standard_normal((count, len(mean))) @ factor.T
            for count, (_, mean, factor) in zip(counts, self._components, strict=True)
        ]
        return random.permutation(np.concatenate(drawn))

    def log_density(self, rows: np.ndarray) -> np.ndarray:
        terms = []
        for weight, mean, factor in self._components:
            z = np.linalg.solve(factor, (rows - mean).T)
            terms.append(math.log(weight) - 0.5 * (z * z).sum(axis=0) - np.log(np.diag(factor)).sum() - 0.5 * len(mean) * _LOG_2PI)
        return np.asarray(np.logaddexp.reduce(terms, axis=0))
