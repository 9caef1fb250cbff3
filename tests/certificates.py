"""Certificates for servers of tests."""

import subprocess
from pathlib import Path


def made(folder: Path, name: str) -> tuple[Path, Path]:
    """Make a certificate of `name`, such as IP:127.0.0.1 or DNS:example.org; return its file and that of its key."""
    files = folder / "certificate.pem", folder / "key.pem"
    about = ["-subj", f"/CN={name.partition(':')[2]}", "-addext", f"subjectAltName={name}"]
    out = ["-nodes", "-days", "2", "-out", str(files[0]), "-keyout", str(files[1])]
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", *about, *out]
    subprocess.run(command, check=True, capture_output=True)
    return files
