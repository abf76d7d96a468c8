"""What can be wrong with a wheel, one kind of thing a module; each check gives findings and raises nothing."""
