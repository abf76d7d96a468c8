"""Release: compare the expected assets with those of a store, and act on each one."""
