"""The trial of many hosts: four machines as network namespaces on one PostgreSQL, in bad weather.

`network.py` makes the machines' network, `machine.py` is one of them, `weather.py` decides by a seed what befalls them,
`workload.py` asks for the runs, and `judge.py` holds the board against its log and against what the agents left behind.
"""
