"""The roles of processes: web, worker, beat, and the demo model when there is no API key."""

import gc
import logging
import os
import signal
import socket
import sys
import time
import warnings
from collections.abc import Callable

import uvicorn
from celery.platforms import EX_FAILURE
from django.conf import settings

from oneclaw.celery import app
from oneclaw.demo import model as demo
from oneclaw.telemetry import tracing, uncaught

logger = logging.getLogger(__name__)

# After so long a thread that answers a request lets the event loop go on, which every socket waits for; Python's own
# 5 ms make a message wait that long at each of its steps while others are answered (docs/benchmarks.md).
SWITCH_SECONDS = 0.001
# For open requests and sockets at shutdown; then the running answers are saved (chat.turns.running.shutdown).
SHUTDOWN_GRACE_SECONDS = 3
# Before a worker that ended by an error begins again.
WORKER_PAUSE_SECONDS = 2.0


def web(listening: socket.socket | None = None, ready: Callable[[], None] = lambda: None) -> None:
    """Serve pages and sockets on `listening`, or else on HOST and PORT; call `ready` once requests are answered."""
    uncaught.begin()
    sys.setswitchinterval(SWITCH_SECONDS)
    Web(web_configuration(), ready).run([listening] if listening else None)


def web_configuration() -> uvicorn.Config:
    """Return the configuration of the web server."""
    return uvicorn.Config(
        "oneclaw.asgi:application",
        host=settings.HOST,
        port=settings.PORT,
        http="oneclaw.web.header_limit:HeaderLimitProtocol",
        ws="websockets-sansio",
        # The consumer refuses frames over 64 KiB itself, with an error frame; this limit is for floods.
        ws_max_size=2 * 1024 * 1024,
        # Compression would take most of the memory of an idle socket.
        ws_per_message_deflate=False,
        lifespan="on",
        # Without a list of its own, uvicorn would believe every program of this machine.
        proxy_headers=bool(settings.TRUSTED_PROXIES),
        forwarded_allow_ips=settings.TRUSTED_PROXIES,
        timeout_graceful_shutdown=SHUTDOWN_GRACE_SECONDS,
        log_config=None,
        access_log=False,
        server_header=False,
    )


class Web(uvicorn.Server):
    """A uvicorn server that calls `ready` once it has started."""

    def __init__(self, configuration: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(configuration)
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve on `sockets`, and call `ready` if that succeeded."""
        await super().startup(sockets)
        if self.started:
            # What is loaded by now stays: to look through it again stops everybody for tenths of a second.
            gc.collect()
            gc.freeze()
            self.ready()


def worker() -> None:
    """Run Celery tasks in threads until SIGTERM or SIGINT; whatever else ends Celery's worker, the next one goes on."""
    tracing.begin()
    uncaught.begin()
    warnings.filterwarnings("ignore", message="You're running the worker with superuser")
    while (code := run_celery_worker()) == EX_FAILURE:
        logger.error("The worker ended by an error, and begins again.")
        time.sleep(WORKER_PAUSE_SECONDS)
    if code:
        sys.exit(code)


def run_celery_worker() -> int:
    """Run one worker of Celery, and return its exit code; EX_FAILURE after an error that it did not expect."""
    running = app.Worker(
        hostname=f"worker@{socket.gethostname()}-{os.getpid()}",
        pool="threads",
        concurrency=settings.WORKER_THREADS,
        loglevel="WARNING",
        redirect_stdouts=False,
        quiet=True,
        # Workers do not exchange messages.
        without_mingle=True,
        without_gossip=True,
        without_heartbeat=True,
    )
    running.start()
    return running.exitcode or 0


def beat() -> None:
    """Send the periodic tasks. The schedule is kept in memory, because all entries are intervals in seconds."""
    uncaught.begin()
    app.Beat(scheduler="celery.beat:Scheduler", loglevel="WARNING", redirect_stdouts=False, quiet=True).run()


def demo_model(port: int) -> None:
    """Run the demo model on the loopback port `port` until SIGTERM or SIGINT."""
    model = demo.start(port)
    signal.sigwait([signal.SIGTERM, signal.SIGINT])
    model.stop()
