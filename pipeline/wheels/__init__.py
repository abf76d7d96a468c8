"""A wheel file as a thing: read, inventory, pack, verify. Knows nothing of plans."""
