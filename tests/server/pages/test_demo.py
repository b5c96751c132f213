"""crowdwise project demo: the command itself, from nothing to pages that move."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time

import httpx
import numpy as np

from crowdwise.cli.live.demo import png


def test_the_demo_serves_pages_that_move(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "crowdwise.cli", "project", "demo", str(tmp_path / "live"), "--pace", "200"]
    process = subprocess.Popen([*command, "--port", str(port)], stderr=subprocess.PIPE, env=os.environ, text=True)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers={"Accept": "text/html"}) as browser:
            counted = 0
            for _ in range(600):
                try:
                    counted = browser.get("/projects/main/status").json()["answers"]["counted"]
                except httpx.TransportError:
                    assert process.poll() is None, process.stderr.read()
                if counted >= 10:
                    break
                time.sleep(0.2)
            assert counted >= 10
            lead = browser.get("/p/main/lead")
            assert lead.status_code == 200
            assert "Always one" in lead.text
            picture = next((tmp_path / "live" / "media").glob("*.png")).name
            shown = browser.get(f"/media/{picture}")
            assert shown.headers["content-type"] == "image/png"
            assert browser.get("/p/main/annotate").status_code == 200
    finally:
        process.send_signal(signal.SIGINT)
        _, talk = process.communicate(timeout=30)
    assert f"http://127.0.0.1:{port}/p/main/lead" in talk
    assert "Traceback" not in talk


def test_a_picture_is_a_picture():
    """Read back by another library: dark where the ink is."""
    import io

    from matplotlib.image import imread

    look = np.zeros((8, 8))
    look[2:6, 2:6] = 1.0
    found = imread(io.BytesIO(png(look)), format="png")
    assert found.shape == (160, 160)
    assert found[80, 80] < 0.25
    assert found[2, 2] > 0.95
