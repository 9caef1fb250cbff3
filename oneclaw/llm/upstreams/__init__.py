"""Several servers that speak the Messages API: which one is asked for a model, and what it may be sent.

routes.py chooses the servers; portable.py makes requests and answers independent of the server; access.py says who may
use which model.
"""
