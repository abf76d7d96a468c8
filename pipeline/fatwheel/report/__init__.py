"""Reports on wheel sizes: what contributes to them, how they grow, and which device code is unused."""
