"""Prove, without a GPU, that what runs on one compiles and links for sm_90: `make gpu`, or `python -m tools.gpu_kernels [DOMAIN ...]`.

Beliefs of every domain are sampled and updated, and decisions made, on a device that a thread stands in for. Each kernel that this
launches is compiled by numba-cuda and linked by nvJitLink, too. A row tells how large its machine code is, and its registers.
"""

from __future__ import annotations

import re
import sys
import time
from typing import Any

import airoas
import airoas.belief.device
import airoas.compiler.device
from airoas.belief.particles import Particles
from airoas.catalog import DOMAINS
from airoas.compiler.cuda import compile_kernel
from airoas.compiler.native import DeviceBoundType, ModelAddressType, ModelType, RecordType
from airoas.errors import BeliefError
from airoas.modelling.decorator import random_observation
from airoas.planners import AIROAS, ARDESPOT, POMCP, AdaOPS
from tools.host_device import HostDevice

SM_90 = (9, 0)
ANNEALED = ("light-dark-2d", "building", "tag", "laser-tag", "vdp-tag", "mine", "pushbox")
"""Of those that are annealed too: each kind of move is among them."""

BOUNDED = (AIROAS(iterations=5, policy="none"), AdaOPS(iterations=5))
SEARCHED = {
    "tag": BOUNDED,
    "laser-tag": BOUNDED,
    "rock-sample-11-11": BOUNDED,
    "light-dark-1.0": (*BOUNDED, AIROAS.as_printed(iterations=2), ARDESPOT(iterations=5)),
    "vdp-tag": (AdaOPS(iterations=2, min_particles=10),),
}
"""Of those that bounded trees are grown for too; the last one's bounds are a forest."""


class LinkingDevice(HostDevice):
    """Compiles and links every kernel for sm_90 besides."""

    mode, mode_alone, mode_warp = "cuda", "alone", "warp"

    def _load(self, kernel: Any, kinds: tuple[Any, ...], mode: str) -> tuple[Any, int]:
        begun = time.perf_counter()
        cubin, count, said = compile_kernel(kernel.function, kinds, SM_90, mode)
        registers = re.findall(r"Used (\d+) registers", said)
        print(
            f"  {kernel.__name__}: {len(cubin):,} bytes, {'/'.join(registers)} registers, {time.perf_counter() - begun:.1f} s", flush=True
        )
        loaded = super()._load(kernel, tuple(_on_cpu(kind) for kind in kinds), "compiled")
        assert loaded[1] == count
        return loaded


def _on_cpu(kind: Any) -> Any:
    """A type of a GPU's as it is to the thread that stands in."""
    if isinstance(kind, ModelAddressType):
        return ModelAddressType(_on_cpu(kind.model))
    if isinstance(kind, ModelType):
        return ModelType(kind.native_class, "compiled", tuple(kind.fields.items()))
    if isinstance(kind, RecordType):
        return RecordType(tuple((name, _on_cpu(field)) for name, field in kind.fields.items()))
    if isinstance(kind, DeviceBoundType):
        return DeviceBoundType(kind.function, _on_cpu(kind.owner), "compiled")
    return kind


def main(names: list[str]) -> None:
    device = LinkingDevice()
    for module in (airoas.compiler.device, airoas.belief.device):
        module.device = lambda: device  # type: ignore[attr-defined]
    for name in names or list(DOMAINS):
        print(name, flush=True)
        model = DOMAINS[name](0)
        for kind in (airoas.BootstrapFilter, *([airoas.AnnealedFilter] if name in ANNEALED else [])):
            filter = kind(1000, device="cuda")
            belief = filter.start(model, airoas.stream(0))
            for k in range(4):
                try:
                    belief = filter.update(model, belief, *random_observation(model, airoas.stream(k)), airoas.stream(k)).belief
                except BeliefError:  # no particle explains it
                    continue
            belief.draw(10, airoas.stream(0))
        planners = [*([POMCP(iterations=10)] if model.n_actions else []), *SEARCHED.get(name, ())]
        for planner in planners:
            planner.plan_many(model, [Particles.sample(model, 10, airoas.stream(0))] * 2, [airoas.stream(k) for k in range(2)])
    print("all of it compiles and links for sm_90")


if __name__ == "__main__":
    main(sys.argv[1:])
