"""OpenTelemetry: what the log says, told as traces once it is over. Loaded only where the settings ask for it; needs the extra
`otel`. A new kind of span is a method of `Spans` and a line in `Tracer`."""
