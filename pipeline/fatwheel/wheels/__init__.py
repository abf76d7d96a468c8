"""A wheel file as a thing: read, packed, verified, split, repacked. Of plans it knows only the records."""
