"""The HTTP door. Nothing lives here yet."""
