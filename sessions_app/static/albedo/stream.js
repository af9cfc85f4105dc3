// A socket that stays: it opens, hands on what comes, and opens again by itself, with the caller's cursor.
// What it says of its state: {kind: "connecting" | "live" | "waiting" | "stopped", text}.

import { get } from "./api.js";

const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 15_000;
// The server says something every five seconds; three times that is silence.
const SILENCE_MS = 16_000;
const FINAL = {
  4401: "You are signed out. Sign in again to go on.",
  4404: "This session does not exist, or is not yours.",
};

export function waitBefore(tries, random = Math.random) {
  const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** tries);
  return wait * (0.5 + random() / 2);
}

export class Stream {
  // `address()` gives the path with the newest cursor; `probe` is a path whose 401 or 404 means the end.
  constructor({ address, probe, onMessage, onState }) {
    Object.assign(this, { address, probe, onMessage, onState });
    this.tries = 0;
    this.socket = null;
    this.stopped = false;
    window.addEventListener("online", () => this.retryNow());
  }

  open() {
    clearTimeout(this.timer);
    this.stopped = false;
    this.onState({ kind: "connecting", text: "Connecting…" });
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(`${scheme}//${location.host}${this.address()}`, "albedo.v1");
    this.socket = socket;
    this.heard = false;
    this.watch();
    socket.addEventListener("message", (message) => this.receive(socket, message.data));
    socket.addEventListener("close", (event) => socket === this.socket && this.closed(event.code));
  }

  receive(socket, text) {
    if (socket !== this.socket) return;
    if (!this.heard) this.onState({ kind: "live", text: "Live" });
    this.heard = true;
    this.tries = 0;
    this.watch();
    this.onMessage(JSON.parse(text));
  }

  // Nothing heard for long: a dead connection that nobody told us about.
  watch() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.reattach(), SILENCE_MS);
  }

  // Leave this socket and come back with the cursor, at once the first time.
  reattach() {
    this.drop();
    this.later();
  }

  async closed(code) {
    clearTimeout(this.silence);
    this.socket = null;
    if (code in FINAL) return this.stop(FINAL[code]);
    // A refused handshake shows as 1006 alone; asking over HTTP tells why.
    if (!this.heard && (await this.refused())) return undefined;
    if (code === 4429) this.tries = Math.max(this.tries, 5);
    return this.later();
  }

  async refused() {
    try {
      await get(this.probe);
    } catch (error) {
      const end = FINAL[error.status + 4000];
      if (end) this.stop(end);
      return Boolean(end);
    }
    return false;
  }

  later() {
    if (this.stopped) return;
    const wait = waitBefore(this.tries);
    this.tries += 1;
    this.onState({ kind: "waiting", text: `Offline, trying again in ${Math.max(1, Math.round(wait / 1000))} s` });
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), wait);
  }

  retryNow() {
    if (!this.stopped && this.socket === null) this.open();
  }

  drop() {
    clearTimeout(this.silence);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
  }

  stop(text) {
    this.stopped = true;
    clearTimeout(this.timer);
    this.drop();
    this.onState({ kind: "stopped", text });
  }
}
