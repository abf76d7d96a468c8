"""The release stage: compares the expected assets with a release and uploads what is missing."""
