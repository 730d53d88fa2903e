"""Draw every domain with its belief after a few steps: `python -m tools.pictures` writes docs/pictures/*.png."""

from __future__ import annotations

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

import airoas
from airoas.belief.filters.update import make_filter
from airoas.catalog import find_domain
from tools.marks import ROOT

WALKS = {  # domain: actions taken before the picture, by name
    "tiger": ["listen", "listen"],
    "light-dark-1.0": ["right", "right"],
    "light-dark-2d": ["east", "east"],
    "tag": ["west", "west", "north"],
    "laser-tag": ["east", "east", "north"],
    "rock-sample-11-11": ["check 0", "check 1", "check 4", "east", "check 3", "check 6"],
}
PARTICLES = 2000
SEED = 8


def main() -> None:
    folder = ROOT / "docs" / "pictures"
    for name, walk in WALKS.items():
        model = find_domain(name)(0)
        world, noise = airoas.stream(SEED, "world"), airoas.stream(SEED, "filter")
        by = make_filter("auto", model, PARTICLES)
        s, belief = model.initial(world), by.start(model, noise)
        for action in walk:
            a = next(k for k, label in enumerate(model.action_names) if label.replace("-", " ").startswith(action))
            s, _ = model.step(s, a, world)
            belief = airoas.update(model, belief, a, model.observe(s, a, world), noise, by)
        figure, axis = plt.subplots(figsize=(7, 4.6), layout="constrained")
        model.draw(axis, s, belief)
        axis.set_title(f"{name} after {', '.join(walk)}", fontsize=10, loc="left")
        figure.savefig(folder / f"{name}.png", dpi=110)
        plt.close(figure)
        print(folder / f"{name}.png")


if __name__ == "__main__":
    main()
