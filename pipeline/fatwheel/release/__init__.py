"""The release station: what is wanted against what a store holds, one action for each asset."""
