"""The weighted particle belief, kept in log space and never changed in place."""

from __future__ import annotations

import zipfile
from os import PathLike
from typing import Any

import numpy as np

from airoas.belief.resampling import indices
from airoas.errors import BeliefError, OptionError, StoredDataError
from airoas.modelling.batch import batch
from airoas.modelling.decorator import Model
from airoas.rng import Rng

_FORMAT = "airoas-particles-1"


class Particles:
    """States [N, size] with weights [N] that sum to 1. Weight zero is allowed, a belief without any weight is not."""

    __slots__ = ("log_weights", "states")

    states: np.ndarray
    """[N, size], read-only."""
    log_weights: np.ndarray
    """[N], normalised, read-only; -inf for weight zero."""

    def __init__(self, states: Any, weights: Any = None, *, log_weights: Any = None) -> None:
        rows = np.array(states, dtype=np.float64, order="C")
        if rows.ndim != 2 or rows.size == 0:
            raise OptionError(f"states of shape {np.shape(states)} are no particles", "give an array [N, size] with N >= 1.")
        if weights is not None and log_weights is not None:
            raise OptionError("weights and log_weights are both given", "give one of them.")
        if weights is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                log_weights = np.log(np.asarray(weights, dtype=np.float64))
        logs = np.zeros(len(rows)) if log_weights is None else np.array(log_weights, dtype=np.float64)
        if logs.shape != (len(rows),) or np.isnan(logs).any() or np.isposinf(logs).any():
            raise OptionError(f"{len(rows)} particles got weights {_few(logs)}", "give one finite weight >= 0 for each.")
        peak = logs.max()
        if peak == -np.inf:
            raise BeliefError("every particle has weight zero", "use more particles, or method='annealed' or 'exact' in update().")
        logs -= peak
        logs -= np.log(np.exp(logs).sum())
        self._set(rows, logs)

    def _set(self, states: np.ndarray, log_weights: np.ndarray) -> None:
        states.flags.writeable = log_weights.flags.writeable = False
        self.states, self.log_weights = states, log_weights

    @classmethod
    def _own(cls, states: np.ndarray, log_weights: np.ndarray) -> Particles:
        """Of arrays that nobody else holds and that are known to be right."""
        particles = cls.__new__(cls)
        particles._set(states, log_weights)
        return particles

    @classmethod
    def sample(cls, model: Any, n: int, rng: Rng) -> Particles:
        """n draws from the model's initial belief."""
        if n < 1:
            raise OptionError(f"{n} particles", "ask for at least 1.")
        states = np.empty((n, _checked(model).shapes.state.size))
        batch(model).initial(states, np.empty(n, np.bool_), rng.bits(62))
        return cls(states)

    @classmethod
    def exact(cls, model: Any) -> Particles:
        """The model's initial belief as all its states (or grid points) with their probabilities."""
        if not _checked(model).has("exact_initial"):
            raise OptionError(f"{type(model).__name__} has no exact initial belief", "give it `exact_initial`, or use Particles.sample.")
        return cls(*model.exact_initial())

    @property
    def weights(self) -> np.ndarray:
        """[N], sum 1."""
        weights: np.ndarray = np.exp(self.log_weights)
        return weights

    @property
    def ess(self) -> float:
        """Effective sample size 1 / sum w^2 (Kong, Liu and Wong, 1994), between 1 and N."""
        return float(1.0 / np.square(self.weights).sum())

    @property
    def inefficiency(self) -> float:
        """N / ESS, 1 at best (In_eff in the paper)."""
        return len(self) / self.ess

    def mean(self) -> np.ndarray:
        """[size]"""
        mean: np.ndarray = self.weights @ self.states
        return mean

    def std(self) -> np.ndarray:
        """[size], of the weighted particles."""
        centred = self.states - self.mean()
        spread: np.ndarray = np.sqrt(self.weights @ (centred * centred))
        return spread

    def particles(self, n: int, rng: Rng) -> Particles:
        """This belief in n particles or fewer: itself, or n drawn where it has more."""
        return self if len(self) <= n else self.draw(n, rng)

    def draw(self, n: int, rng: Rng, method: str = "systematic") -> Particles:
        """n equally weighted particles drawn from this belief."""
        if n < 1:
            raise OptionError(f"{n} particles", "ask for at least 1.")
        return Particles._own(self.states[indices(self.weights, n, rng, method)], np.full(n, -np.log(n)))

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
        except (ValueError, TypeError, KeyError, zipfile.BadZipFile, EOFError) as error:  # TypeError: a bare array
            raise StoredDataError(f"is no saved belief, or damaged ({error})", "save the belief again.", where=str(path)) from None

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        with np.printoptions(precision=3, suppress=True):
            return f"Particles(N={len(self)}, ESS={self.ess:.1f}, mean={self.mean()}, std={self.std()})"


def _few(values: np.ndarray) -> str:
    with np.printoptions(threshold=6, edgeitems=2, precision=3):
        return str(values)


def _checked(model: Any) -> Model:
    if not isinstance(model, Model):
        raise OptionError(f"{model!r} is not a model", "pass an instance of a class decorated with @airoas.model.")
    return model
