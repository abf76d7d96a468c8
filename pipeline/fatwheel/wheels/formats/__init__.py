"""File formats: ELF, fat binaries, zip, METADATA, RECORD, wheel file names, and version texts."""
