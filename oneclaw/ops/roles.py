"""What each process of a running OneClaw does: web, worker, beat, and the demo model when there is no key."""

import os
import signal
import socket
import warnings
from collections.abc import Callable

import uvicorn
from django.conf import settings

from oneclaw.celery import app
from oneclaw.demo import model as demo

# Seconds that open requests and sockets get at the end; then the running answers are saved (chat.turns.loop.shutdown).
GRACE = 3


def web(listening: socket.socket | None = None, ready: Callable[[], None] = lambda: None) -> None:
    """Serve pages and sockets, on `listening` or on HOST and PORT; `ready` is called when requests are answered."""
    configuration = uvicorn.Config(
        "oneclaw.asgi:application",
        host=settings.HOST,
        port=settings.PORT,
        ws="websockets-sansio",
        # The consumer refuses frames over 64 KiB with their size; only floods are cut here.
        ws_max_size=2 * 1024 * 1024,
        # Compression would cost each idle socket more memory than everything else together.
        ws_per_message_deflate=False,
        lifespan="on",
        timeout_graceful_shutdown=GRACE,
        log_config=None,
        access_log=False,
        server_header=False,
    )
    Web(configuration, ready).run([listening] if listening else None)


class Web(uvicorn.Server):
    def __init__(self, configuration: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(configuration)
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self.ready()


def worker() -> None:
    """Run tasks, in threads."""
    warnings.filterwarnings("ignore", message="You're running the worker with superuser")
    app.Worker(
        hostname=f"worker@{socket.gethostname()}-{os.getpid()}",
        pool="threads",
        concurrency=settings.WORKER_THREADS,
        loglevel="WARNING",
        redirect_stdouts=False,
        quiet=True,
        # Workers need not know of each other.
        without_mingle=True,
        without_gossip=True,
        without_heartbeat=True,
    ).start()


def beat() -> None:
    """Send the sweeps at their times. The schedule is kept in memory: all of it is “every so many seconds”."""
    app.Beat(scheduler="celery.beat:Scheduler", loglevel="WARNING", redirect_stdouts=False, quiet=True).run()


def demo_model(port: int) -> None:
    """Be the demo model on a loopback port."""
    model = demo.start(port)
    signal.sigwait([signal.SIGTERM, signal.SIGINT])
    model.stop()
