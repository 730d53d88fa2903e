"""The visit-count tree of POMCP and POMCPOW."""
