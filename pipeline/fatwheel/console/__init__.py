"""Terminal input and output that commands share: options, help, errors, tables."""
