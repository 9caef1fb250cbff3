"""The one guard of all HTTP requests that leave this server.

purposes.py says for each purpose where its requests may go and how much they may take, addresses.py classifies IP
addresses, guard.py decides. Requests are made by client.py (sync), streaming.py (async, for httpx2) and sessions.py
(for libraries that take a session of requests). A connection is made to the address that was checked: the name is
resolved once, and stays in SNI and the header Host.
"""
