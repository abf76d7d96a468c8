"""A cell becomes a wheel and its record: toolchain, environment, engine, and the station that joins them."""
