"""Claim, launch, follow, finish: the runs of one host. Nothing lives here yet."""
