"""The shipped domains. `airoas list` shows their named instances."""

from airoas.domains.laser_tag import LaserTag
from airoas.domains.light_column import LightColumn, LightColumnMacros
from airoas.domains.light_dark import LightDark
from airoas.domains.light_dark_2d import LightDark2D, LightDark2DContinuous
from airoas.domains.parking import Parking
from airoas.domains.pushbox import Pushbox
from airoas.domains.rock_sample import RockSample
from airoas.domains.sensor_placement import SensorPlacement
from airoas.domains.tag import Tag
from airoas.domains.tiger import Tiger

__all__ = [
    "LaserTag",
    "LightColumn",
    "LightColumnMacros",
    "LightDark",
    "LightDark2D",
    "LightDark2DContinuous",
    "Parking",
    "Pushbox",
    "RockSample",
    "SensorPlacement",
    "Tag",
    "Tiger",
]
