// Saying something: one input with an id of its own, sent until the server has it, never twice.

import { ApiError, put } from "./api.js";
import { byId } from "./dom.js";
import { uuid7 } from "./ids.js";

const TRIES = 4;
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// The same id every time: a repeated request is the same input to the server.
async function deliver(path, body) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await put(path, body);
    } catch (error) {
      const passing = error instanceof ApiError && (error.status === 0 || error.status === 503);
      if (!passing || attempt === TRIES) throw error;
      await wait(500 * 2 ** attempt);
    }
  }
}

export class Composer {
  constructor({ sessionId, onError, onSent }) {
    Object.assign(this, { sessionId, onError, onSent });
    this.form = byId("composer");
    this.box = byId("composer-text");
    this.choice = byId("when-busy");
    this.send = byId("send");
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.box.addEventListener("input", () => this.resize());
    this.box.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    });
  }

  resize() {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight, 240)}px`;
  }

  busy(isBusy) {
    this.choice.hidden = !isBusy;
  }

  async submit() {
    const text = this.box.value;
    if (text.trim() === "" || this.send.disabled) return;
    const body = { text, when_busy: this.choice.hidden ? "queue" : this.choice.value };
    // Kept while the body stays as it is: pressing again after a failure repeats the input, not adds one.
    const same = this.pending && JSON.stringify(this.pending.body) === JSON.stringify(body);
    if (!same) this.pending = { id: uuid7(), body };
    this.send.disabled = true;
    try {
      await deliver(`/api/sessions/${this.sessionId}/inputs/${this.pending.id}`, body);
      this.pending = null;
      if (this.box.value === text) this.box.value = "";
      this.resize();
      this.onSent(text);
    } catch (error) {
      this.onError(error.message);
    }
    this.send.disabled = false;
    this.box.focus();
  }
}
