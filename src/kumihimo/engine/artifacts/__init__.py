"""Files of runs, wherever they lie: on this machine, in a folder or a bucket that all hosts share, or behind another door."""
