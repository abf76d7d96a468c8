"""One module a verb: options in, stations called, results out."""
