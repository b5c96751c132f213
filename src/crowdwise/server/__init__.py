"""Live labelling: a server that assigns tasks to workers and stores their answers in a log of events.

`store` holds the log, `live` the state derived from it, `write_queue` the only writer; `api` is the HTTP interface and
`pages` the web pages. No other package imports this one; the extra `serve` installs its dependencies.
"""
