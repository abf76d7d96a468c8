"""What passes between stations: models, each with a published JSON Schema; file names and requirements they share."""
