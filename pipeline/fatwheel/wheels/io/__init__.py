"""Reading bytes: memory, files, URLs in ranges, and deflate."""
