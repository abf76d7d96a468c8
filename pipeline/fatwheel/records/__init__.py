"""Data exchanged between stages: models with published JSON Schemas, and the file names and requirements they share."""
