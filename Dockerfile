FROM python:3.11-slim-bookworm

ARG VERSION=""
LABEL org.opencontainers.image.title="OneClaw" \
    org.opencontainers.image.description="A web chat for teams in which an AI remembers." \
    org.opencontainers.image.licenses="MIT" \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.base.name="python:3.11-slim-bookworm"

ENV PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /app
# The data folder belongs to the account that everything runs as; PostgreSQL would refuse to be root.
RUN useradd --system --uid 10001 --home-dir /data --create-home oneclaw

COPY requirements/run.txt requirements/
RUN pip install --require-hashes -r requirements/run.txt
# With `--build-arg EXTRAS=saml` the image has that extra too.
ARG EXTRAS=""
COPY requirements/saml.txt requirements/
RUN for extra in $EXTRAS; do pip install --require-hashes -r "requirements/$extra.txt" || exit 1; done

COPY . .
ENV ONECLAW_STATIC_ROOT=/app/collected
# Nothing is written here later, not even compiled modules: the root may be read-only.
RUN ONECLAW_HOME=/tmp/build python manage.py collectstatic --no-input --verbosity 0 && rm -r /tmp/build \
    && python -m compileall -q oneclaw chat memory

# It writes into /data and /tmp alone.
ENV ONECLAW_HOME=/data HOST=0.0.0.0 PORT=8000 PYTHONDONTWRITEBYTECODE=1
# By number, so that a cluster can see that it is not root.
USER 10001
VOLUME /data
EXPOSE 8000
# Of the web process; the first start makes the database, if none is named.
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s \
    CMD ["python", "-c", "import os, urllib.request as u; u.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/healthz', timeout=3)"]
ENTRYPOINT ["python", "manage.py"]
CMD ["serve"]
