"""Byte sources: memory, files, ranges and URLs; and compression."""
