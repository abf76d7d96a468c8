"""Read a wheel: its archive, members, device code, inventory and embedded metadata."""
