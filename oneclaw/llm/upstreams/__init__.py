"""Several servers that speak the Messages API: which one is asked for a model, and what it may be sent.

servers.py has the servers; routes.py chooses among them; portable.py makes requests and answers independent of the
server; access.py says who may use which model; trial.py asks a server once, to try it.
"""
