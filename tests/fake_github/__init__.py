"""A stateful stand-in for GitHub's release API that can be told to misbehave: ``python -m tests.fake_github``."""
