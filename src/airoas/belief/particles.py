"""The weighted particle belief, kept in log space and never changed in place."""

from __future__ import annotations

import zipfile
from os import PathLike
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from airoas.belief.resampling import indices
from airoas.errors import BeliefError, ModelError, OptionError, StoredDataError
from airoas.modelling.batch import batch
from airoas.modelling.decorator import Model
from airoas.modelling.gate import as_numbers, check_states, check_stream
from airoas.modelling.introspection import location
from airoas.modelling.kernel_model import KernelModel
from airoas.modelling.rows import Reals, Rows, Weights
from airoas.options import whole
from airoas.rng import Rng

_FORMAT = "airoas-particles-1"


class Particles:
    """States [N, size] with weights [N] that sum to 1. Weight zero is allowed, a belief without any weight is not."""

    __slots__ = ("_model", "log_weights", "states")

    states: Rows
    """[N, size], read-only."""
    log_weights: Reals
    """[N], normalised, read-only; -inf for weight zero."""

    def __init__(self, states: ArrayLike, weights: ArrayLike | None = None, *, log_weights: ArrayLike | None = None) -> None:
        rows = as_numbers(states, "states")
        if rows.ndim != 2 or rows.size == 0:
            raise OptionError(f"states of shape {rows.shape} are no particles", "give an array [N, size] with N >= 1.")
        if not np.isfinite(rows).all():
            i = int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
            raise OptionError(f"particle {i} is {_few(rows[i])}", "give finite numbers.")
        if weights is not None and log_weights is not None:
            raise OptionError("weights and log_weights are both given", "give one of them.")
        if weights is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                log_weights = np.log(as_numbers(weights, "weights"))
        logs = np.zeros(len(rows)) if log_weights is None else as_numbers(log_weights, "log_weights")
        if logs.shape != (len(rows),) or np.isnan(logs).any() or np.isposinf(logs).any():
            raise OptionError(f"{len(rows)} particles got weights {_few(logs)}", "give one finite weight >= 0 for each.")
        peak = logs.max()
        if peak == -np.inf:
            raise BeliefError("every particle has weight zero", "use more particles, or filter='annealed' or 'exact' in update().")
        logs -= peak
        logs -= np.log(np.exp(logs).sum())
        self._set(rows, logs)

    def _set(self, states: Rows, log_weights: Reals, model: KernelModel | None = None) -> None:
        states.flags.writeable = log_weights.flags.writeable = False
        self.states, self.log_weights = states, log_weights
        self._model = model  # whose states they are known to be

    @classmethod
    def _own(cls, states: Rows, log_weights: Reals, model: KernelModel | None) -> Particles:
        """Of arrays that nobody else holds and that are known to be right; states of that model, or of one that is not known."""
        particles = cls.__new__(cls)
        particles._set(states, log_weights, model)
        return particles

    def _of(self, model: KernelModel) -> Particles:
        """The same, whose states are the model's own."""
        return Particles._own(self.states, self.log_weights, model)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.states, self.log_weights)

    @classmethod
    def sample(cls, model: Any, n: int, rng: Rng) -> Particles:
        """n draws from the model's initial belief."""
        n, seed = whole("n", n, 1), check_stream(rng).bits(62)
        states = np.empty((n, _checked(model).shapes.state.size))
        batch(model).initial(states, np.empty(n, np.bool_), seed)
        if not np.isfinite(states).all():
            raise ModelError("gives a state that is not finite", "return finite numbers.", where=location(model, "initial"))
        return InitialDraws._own(states, np.full(n, -np.log(n)), model)

    @classmethod
    def exact(cls, model: Any) -> Particles:
        """The model's initial belief as all its states (or grid points) with their probabilities."""
        if not _checked(model).has("exact_initial"):
            raise OptionError(f"{type(model).__name__} has no exact initial belief", "give it `exact_initial`, or use Particles.sample.")
        return cls(*model.exact_initial())

    @property
    def weights(self) -> Weights:
        """[N], sum 1."""
        weights: Weights = np.exp(self.log_weights)
        return weights

    @property
    def ess(self) -> float:
        """Effective sample size 1 / sum w^2 (Kong, Liu and Wong, 1994), between 1 and N."""
        return float(1.0 / np.square(self.weights).sum())

    @property
    def inefficiency(self) -> float:
        """N / ESS, 1 at best (In_eff in the paper)."""
        return len(self) / self.ess

    def mean(self) -> Reals:
        """[size]"""
        mean: Reals = self.weights @ self.states
        return mean

    def std(self) -> Reals:
        """[size], of the weighted particles."""
        centred = self.states - self.mean()
        spread: Reals = np.sqrt(self.weights @ (centred * centred))
        return spread

    def particles(self, n: int, rng: Rng) -> Particles:
        """This belief in n particles or fewer: itself, or n drawn where it has more."""
        return self if len(self) <= whole("n", n, 1) else self.draw(n, rng)

    def draw(self, n: int, rng: Rng, method: str = "systematic") -> Particles:
        """n equally weighted particles drawn from this belief."""
        n = whole("n", n, 1)
        return Particles._own(self.states[indices(self.weights, n, check_stream(rng), method)], np.full(n, -np.log(n)), self._model)

    def thinned(self, n: int) -> Particles:
        """n particles or fewer at even distances of this belief's weight, none of them random, for a log or a page."""
        keep = self.log_weights > -np.inf
        states, weights = self.states[keep], self.weights[keep]
        if len(states) <= n:
            return Particles(states, weights)
        points = (np.arange(n) + 0.5) / n
        return Particles(states[np.minimum(np.searchsorted(np.cumsum(weights), points), len(states) - 1)])

    def save(self, path: str | PathLike[str]) -> None:
        """Write a `.npz` file that `load` reads."""
        with open(path, "wb") as file:
            np.savez(file, format=np.array(_FORMAT), states=self.states, log_weights=self.log_weights)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Particles:
        """What `save` wrote."""
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as stored:
                if "format" not in stored or str(stored["format"]) != _FORMAT:
                    raise StoredDataError("is not a saved belief", "give a file written by Particles.save.", where=str(path))
                return cls(stored["states"], log_weights=stored["log_weights"])
        except OSError as error:
            raise OptionError(f"{path} cannot be read ({error.strerror})", "give a file written by Particles.save.") from None
        except (ValueError, TypeError, KeyError, zipfile.BadZipFile, EOFError) as error:  # TypeError: a bare array
            raise StoredDataError(f"is no saved belief, or damaged ({error})", "save the belief again.", where=str(path)) from None

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        with np.printoptions(precision=3, suppress=True):
            return f"Particles(N={len(self)}, ESS={self.ess:.1f}, mean={self.mean()}, std={self.std()})"


class InitialDraws(Particles):
    """Draws of the initial belief, of which there are more to be had."""

    __slots__ = ()


def admit(model: Any, belief: Any) -> Particles:
    """The belief, refused unless it is one over states of the model: compiled code would read beyond its ends, or the model's."""
    if not isinstance(belief, Particles):
        raise OptionError(f"{type(belief).__name__} is no belief to plan or update with", "give airoas.Particles(states, weights).")
    if belief._model is not model:
        check_states(_checked(model), belief.states[belief.log_weights > -np.inf])
        belief._model = model
    return belief


def _restored(states: Rows, log_weights: Reals) -> Particles:
    return Particles._own(states, log_weights, None)


def _few(values: Reals) -> str:
    with np.printoptions(threshold=6, edgeitems=2, precision=3):
        return str(values)


def _checked(model: Any) -> KernelModel:
    if not isinstance(model, Model):
        raise OptionError(f"{model!r} is not a model", "pass an instance of a class decorated with @airoas.model.")
    return cast(KernelModel, model)
