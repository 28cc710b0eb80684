"""The dashboard in a real Chromium, against a real `kumi up` with scripted agents. `make test-browser` runs them."""
