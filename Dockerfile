FROM python:3.11-slim-bookworm

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
RUN ONECLAW_HOME=/tmp/build python manage.py collectstatic --no-input --verbosity 0 && rm -r /tmp/build

ENV ONECLAW_HOME=/data HOST=0.0.0.0
USER oneclaw
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["python", "manage.py"]
CMD ["serve"]
