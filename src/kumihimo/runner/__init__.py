"""The pull loop of a Runner over its three calls. It knows no task. Nothing lives here yet."""
