"""Wheel files: read, check and write them. Of the stages and plans, only the records are known here."""
