"""File formats a wheel is made of: ELF, fat binaries, zip, RECORD, METADATA and names."""
