"""How the bytes of an answer arrive: the HTTP transport of the SDK, when its socket is read, and the pace of frames."""
