"""An embedding server that follows the test's script over real HTTP."""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Embeddings(ThreadingHTTPServer):
    """Speaks OpenAI's /v1/embeddings and Gemini's batchEmbedContents. `script` holds what the next answers are: a
    status, "garbage", "drip" (a byte now and then), or seconds to wait; when it is empty, a vector of eight numbers
    that depends on the letters of the text. Texts that hold the word `refused`, or are longer than `longest`, it
    answers with `refusal`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Any] = []
        self.asked: list[list[str]] = []
        self.refused, self.longest, self.retry_after = "", 1_000_000, "0.01"
        self.refusal = 400
        self.vector: Callable[[str], Any] = letters
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()

    def refuses(self, text: str) -> bool:
        return len(text) > self.longest or (bool(self.refused) and self.refused in text)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Handler(BaseHTTPRequestHandler):
    server: Embeddings

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        is_gemini = self.path.endswith(":batchEmbedContents")
        texts = [one["content"]["parts"][0]["text"] for one in asked["requests"]] if is_gemini else asked["input"]
        with self.server.lock:
            self.server.asked.append(texts)
            step = self.server.script.pop(0) if self.server.script else None
            if any(self.server.refuses(text) for text in texts):
                step = self.server.refusal
            self.server.at_once += 1
            self.server.most_at_once = max(self.server.most_at_once, self.server.at_once)
        if isinstance(step, float):
            time.sleep(step)
        rows = [{"index": at, "embedding": self.server.vector(text)} for at, text in enumerate(texts)]
        tokens = sum(len(text) // 4 + 1 for text in texts)
        if is_gemini:
            answer = {"embeddings": [{"values": row["embedding"]} for row in rows]}
        else:
            answer = {"data": rows[::-1], "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}
        body = b"<html>" if step == "garbage" else json.dumps(answer).encode()
        if step == 401:
            body = f"No such key: {self.headers.get('authorization')}".encode()
        with self.server.lock:
            self.server.at_once -= 1
        try:
            self.send_response(step if isinstance(step, int) else 200)
            self.send_header("content-length", str(len(body)))
            self.send_header("retry-after", self.server.retry_after)
            self.end_headers()
            for at in range(100 if step == "drip" else 0):
                self.wfile.write(body[at : at + 1])
                time.sleep(0.05)
            self.wfile.write(body)
        except OSError:
            pass  # whoever asked has gone

    def log_message(self, *args: Any) -> None: ...


def letters(text: str) -> list[float]:
    return [0.1 + text.lower().count(letter) for letter in "aeiourst"]
