"""Claim, launch, follow, finish: the runs of one host.

One supervisor per home, elected by the lock of the host process. It keeps nothing that can't be found again: the rows it
owns say what it runs, and the folder of each run says how far that one is. So it may die at any point; the next one
takes over.
"""
