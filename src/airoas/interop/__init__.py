"""Problems from elsewhere as models, and models for elsewhere. `airoas.interop.gymnasium` needs the extra `gym`."""

from airoas.interop.pomdpfile import parse_pomdp, read_pomdp
from airoas.interop.tabular import Tabular

__all__ = ["Tabular", "parse_pomdp", "read_pomdp"]
