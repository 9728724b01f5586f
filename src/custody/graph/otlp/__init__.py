"""OpenTelemetry's spans in and out."""
