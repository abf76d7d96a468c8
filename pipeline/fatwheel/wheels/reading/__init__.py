"""Reading a wheel: archive, members, contents, inventory and embedded metadata."""
