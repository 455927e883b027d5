"""The nginx that counts of instructions, calls and functions are made against."""

import socket
import subprocess
import sys
import time

CONFIGURATION = """
daemon off; master_process off; pid nginx.pid; error_log error.log;
events {{ worker_connections 4096; }}
http {{
    access_log off; keepalive_requests 100000000; keepalive_timeout 300;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    server {{
        listen 127.0.0.1:{port};
        location = /fresh {{
            default_type application/json;
            add_header Cache-Control "max-age=3600";
            return 200 '{{"id":42,"name":"Fireweed","tags":["http","swift"],"ok":true  }}';
        }}
        location = /small {{
            default_type application/json;
            return 200 '{{"id":42,"name":"Fireweed","tags":["http","swift"],"ok":true  }}';
        }}
    }}
}}
"""


def start_server(folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "nginx.conf").write_text(CONFIGURATION.format(port=port))
    server = subprocess.Popen(["nginx", "-p", str(folder), "-c", "nginx.conf", "-e", "error.log"])
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return server, f"http://127.0.0.1:{port}"
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                server.kill()
                sys.exit("nginx does not start:\n" + (folder / "error.log").read_text())
            time.sleep(0.05)
