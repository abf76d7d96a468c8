"""What passes between stations: one model a file, each with a published JSON Schema."""
