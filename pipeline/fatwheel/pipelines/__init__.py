"""Compositions of stages: builds of many cells, rehearsal, doctor, split and repack with records."""
