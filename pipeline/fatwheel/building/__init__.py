"""Build one cell into a wheel with its build record: toolchain, environment, engine and build command."""
