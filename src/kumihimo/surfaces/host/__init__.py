"""The host process, `kumi up`: HTTP, the supervisor and the verifier in one process, one at a time for each home, and those
who follow the log beside them (notices, traces). What is served is in `http` and `live`; here is what keeps it up. Somebody
else who follows the log is a line in `followers.py`."""
