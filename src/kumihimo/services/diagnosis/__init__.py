"""What `kumi doctor` looks at: one file for each part of the machine, and `diagnosis.py`, which asks them all.

Every look answers findings, and mends what is safe to mend where it is told to. A look never ends what somebody needs and
never removes what exists only once.
"""
