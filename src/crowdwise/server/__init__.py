"""Live labelling: a server that takes answers as they come, decides whom to ask what next, and loses nothing.

`store` keeps the log of events, `live` is the state that follows from it, `desk` the one writer between them, `api` and
`pages` the faces. Nothing of it is imported by the rest of the library; the extra `serve` brings what it needs."""
