"""deploy/nginx: what nginx itself says of it."""

from __future__ import annotations

import datetime
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from scripts.distributed.nginx import configuration, worker_user
from scripts.distributed.ports import free_ports
from tests.integration.deploy.reading import DEPLOY
from tests.support.distributed import needs_nginx

NGINX = DEPLOY / "nginx"
DEBIAN = Path("/etc/nginx/nginx.conf")


@pytest.fixture
def tls(tmp_path: Path) -> Path:
    """A folder with a certificate for the example's name."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "albedo.example.org")])
    today = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(today).not_valid_after(today + datetime.timedelta(days=2))
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    folder = tmp_path / "tls"
    folder.mkdir()
    (folder / "fullchain.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
    (folder / "privkey.pem").write_bytes(private)
    return folder


def checked(text: str, folder: Path) -> None:
    """Hand `text` to nginx as its whole configuration; it must find nothing to say but that it is good."""
    needs_nginx()
    program = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin") or ""
    (folder / "nginx.conf").write_text(text, "utf-8")
    found = subprocess.run(
        [program, "-t", "-p", folder, "-c", "nginx.conf", "-e", "stderr"],
        capture_output=True,
        text=True,
        check=False,
    )
    said = [
        line
        for line in found.stderr.splitlines()
        if "syntax is ok" not in line and "is successful" not in line
    ]
    assert (found.returncode, said) == (0, [])


def moved(text: str, folder: Path, tls: Path) -> str:
    """With the places and ports of a machine exchanged for such as anybody may use."""
    plain, secure = free_ports(2)
    text = text.replace("/etc/nginx/albedo", str(NGINX))
    text = text.replace("/etc/letsencrypt/live/albedo.example.org", str(tls)).replace(
        "/etc/nginx/tls", str(tls)
    )
    text = text.replace("/var/log/nginx", str(folder)).replace(
        "/var/run/nginx.pid", str(folder / "nginx.pid")
    )
    text = text.replace("listen 80", f"listen {plain}").replace("listen [::]:80;", "")
    return text.replace("listen 443", f"listen {secure}").replace("listen [::]:443 ssl sndbuf=256k;", "")


def test_the_one_of_the_containers_is_good(tmp_path: Path, tls: Path) -> None:
    text = (NGINX / "compose.conf").read_text("utf-8").replace("include /etc/nginx/mime.types;", "")
    checked(moved(text, tmp_path, tls), tmp_path)


def test_the_one_of_a_machine_is_good_alone(tmp_path: Path, tls: Path) -> None:
    site = moved((NGINX / "machine.conf").read_text("utf-8"), tmp_path, tls)
    checked(f"pid nginx.pid; events {{}}\nhttp {{\naccess_log off;\n{site}\n}}\n", tmp_path)


def test_the_one_of_a_machine_is_good_in_debian_s_own_configuration(tmp_path: Path, tls: Path) -> None:
    if not DEBIAN.is_file():
        pytest.skip(f"there is no {DEBIAN}")
    (tmp_path / "site").write_text(moved((NGINX / "machine.conf").read_text("utf-8"), tmp_path, tls), "utf-8")
    text = DEBIAN.read_text("utf-8")
    assert "include /etc/nginx/sites-enabled/*;" in text
    text = text.replace("include /etc/nginx/sites-enabled/*;", f"include {tmp_path}/site;")
    text = text.replace("/run/nginx.pid", f"{tmp_path}/nginx.pid").replace("/var/log/nginx", str(tmp_path))
    if os.geteuid() != 0:
        text = text.replace("user www-data;", "")
    checked(text, tmp_path)


def test_the_one_of_the_distributed_mode_is_good(tmp_path: Path) -> None:
    port, *webs = free_ports(4)
    checked(configuration(port, webs, worker_user()), tmp_path)


def test_each_uses_the_one_account_of_how_streams_and_bodies_pass() -> None:
    for name in ("compose.conf", "machine.conf"):
        text = (NGINX / name).read_text("utf-8")
        assert "/etc/nginx/albedo/http.conf" in text
        assert "/etc/nginx/albedo/server.conf" in text
        assert "proxy_pass" not in text
