"""A program of a person, for tests of the API."""

import json

from django.test import Client

from oneclaw.people import keys


class Program:
    """Speaks for one person: program.get("/me") is the answer of /api/v1/me."""

    def __init__(self, user):
        self.user = user
        self.key, self.token = keys.make(user, "Program", "never")
        self.client = Client(headers={"Authorization": f"Bearer {self.token}"})

    def get(self, path, **query):
        return self.client.get(f"/api/v1{path}", query)

    def send(self, method, path, body=None):
        data = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
        return getattr(self.client, method)(f"/api/v1{path}", **data)

    def patch(self, path, **body):
        return self.send("patch", path, body)

    def put(self, path, **body):
        return self.send("put", path, body)

    def post(self, path, **body):
        return self.send("post", path, body or None)

    def delete(self, path):
        return self.send("delete", path)


def refusal(response):
    """(status, code) of an answer that says why not."""
    told = response.json()
    assert told["text"].endswith((".", "!"))
    return response.status_code, told["code"]
