"""What becomes of a pooled connection that the server has ended."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db(transaction=True)


def backend_id():
    """The server's process of a connection that is taken from the pool and given back."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        found = cursor.fetchone()[0]
    connection.close()
    return found


@pytest.fixture
def elsewhere():
    """elsewhere(function): what it returns in another thread, which has another connection."""
    # Those that earlier tests have left there would be taken in turn.
    connection.close()
    connection.close_pool()
    with ThreadPoolExecutor(1) as thread:
        yield lambda function: thread.submit(function).result()


def test_a_connection_that_the_server_has_ended_is_replaced_before_it_is_used(elsewhere):
    with connection.cursor() as cursor:
        ended = elsewhere(backend_id)
        assert elsewhere(backend_id) == ended
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [ended])
        assert cursor.fetchone() == (True,)
        assert elsewhere(backend_id) != ended
