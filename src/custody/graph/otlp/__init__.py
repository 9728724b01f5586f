"""OpenTelemetry spans in and out: JSON and protobuf, files and requests.

May touch the files that the caller names, and the store through the workspace that is passed in.
"""
