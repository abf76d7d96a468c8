"""Terminal output shared by commands: options, JSON, tables and progress."""
