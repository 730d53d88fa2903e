"""The bounded belief tree of AIROAS, AdaOPS and AR-DESPOT."""
