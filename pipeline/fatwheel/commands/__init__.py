"""The commands, one module each: options in, one call, text out."""
