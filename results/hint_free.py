"""The domains without their hints, for results/referee.toml."""

from __future__ import annotations

from airoas.domains.strangers.bare import bare

light_dark_1 = bare("light-dark-1.0")
light_dark_05 = bare("light-dark-0.5")
light_dark_2d = bare("light-dark-2d")
laser_tag_1 = bare("laser-tag")
rock_sample_11_11 = bare("rock-sample-11-11")
