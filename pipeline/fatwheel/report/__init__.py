"""Reports: how large wheels are, what makes them so, how they grow, and which of their code nothing loads."""
