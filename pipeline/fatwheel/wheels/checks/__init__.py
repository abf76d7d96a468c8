"""Checks of a wheel, one subject per module. Each yields findings and never raises."""
