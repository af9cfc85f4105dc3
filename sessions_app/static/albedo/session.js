// One session's page: the stream's state in, the page out. Nothing here rebuilds what the server folds.

import { get, post } from "./api.js";
import { Composer } from "./composer.js";
import { byId } from "./dom.js";
import { applyBatch, prepend } from "./fold.js";
import { SessionHeader, showConnection, showStatus, showUsage } from "./header.js";
import { announce, noticesView } from "./notices.js";
import { pendingView } from "./pending.js";
import { Stream } from "./stream.js";
import { Transcript } from "./transcript.js";

const TAIL = 100;

export class SessionPage {
  constructor(sessionId) {
    this.sessionId = sessionId;
    this.path = `/api/sessions/${sessionId}`;
    this.state = null;
    this.notices = noticesView(byId("notices"));
    const onError = (text) => this.notices.add("error", text);
    this.onError = onError;
    this.header = new SessionHeader({ sessionId, onError });
    this.composer = new Composer({ sessionId, onError, onSent: (text) => this.sent(text) });
    this.showPending = pendingView({ element: byId("pending"), sessionId, onError });
    this.transcript = new Transcript({
      scroller: byId("transcript"),
      history: byId("history"),
      live: byId("live"),
      sessionId,
    });
    this.stream = new Stream({
      address: () => this.address(),
      probe: `${this.path}?tail=0`,
      onMessage: (batch) => this.receive(batch),
      onState: (state) => this.connection(state),
    });
    this.wire();
    this.stream.open();
  }

  wire() {
    byId("interrupt").addEventListener("click", () => this.interrupt());
    byId("older").addEventListener("click", () => this.loadOlder());
    byId("connect-now").addEventListener("click", () => this.stream.retryNow());
    byId("to-end").addEventListener("click", () => this.transcript.toEnd());
    byId("transcript").addEventListener("scroll", () => this.scrolled());
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !byId("settings").open && !byId("interrupt").hidden) this.interrupt();
    });
  }

  sent(text) {
    this.transcript.toEnd();
    this.header.nameAfter(text);
  }

  address() {
    const query = new URLSearchParams({ tail: TAIL });
    if (this.state) {
      query.set("after_generation", this.state.cursor.generation);
      query.set("after_seq", this.state.cursor.sequence);
    }
    return `/ws/sessions/${this.sessionId}?${query}`;
  }

  receive(batch) {
    const { state, events, reset, gap } = applyBatch(this.state, batch);
    const first = this.state === null;
    this.state = state;
    if (reset) this.header.show(state);
    for (const event of events) announce(this.notices, event);
    if (reset || events.length) this.draw();
    if (first && state) this.transcript.toEnd();
    if (gap) this.stream.reattach();
  }

  // Many events a second become one drawing a frame.
  draw() {
    if (this.frame) return;
    this.frame = setTimeout(() => {
      this.frame = null;
      this.render();
    }, 30);
  }

  render() {
    const { state } = this;
    const busy = state.status.phase !== "idle";
    this.transcript.update(state);
    this.showPending(state.pending_inputs, state.pending_approvals);
    this.composer.busy(busy);
    showStatus(state.status);
    showUsage(state.usage);
    byId("interrupt").hidden = !busy && state.pending_inputs.length === 0;
    byId("interrupt").disabled = state.status.interrupt_requested;
    byId("older").hidden = !((state.history.items[0]?.position ?? 1) > 1);
    byId("empty").hidden = busy || state.history.items.length > 0 || state.pending_inputs.length > 0;
    this.announceOnce(busy);
    this.scrolled();
  }

  // Screen readers hear that an answer came, not every word of its making.
  announceOnce(busy) {
    if (this.wasBusy && !busy) byId("announcer").textContent = "The answer is complete.";
    if (!this.wasBusy && busy) byId("announcer").textContent = "Working on it.";
    this.wasBusy = busy;
  }

  connection(state) {
    showConnection(state);
    if (state.kind === "stopped") this.notices.add("error", state.text);
    byId("sign-in").hidden = !(state.kind === "stopped" && state.text.includes("signed out"));
  }

  async interrupt() {
    const { status, input_order } = this.state;
    byId("interrupt").disabled = true;
    try {
      await post(`${this.path}/interrupt`, { run_id: status.run_id, through_input_order: input_order });
    } catch (error) {
      this.onError(error.message);
      byId("interrupt").disabled = false;
    }
  }

  async loadOlder() {
    const first = this.state.history.items[0]?.position;
    const button = byId("older");
    button.disabled = true;
    try {
      const page = await get(`${this.path}/history?limit=100&before=${first}`);
      const before = byId("transcript").scrollHeight;
      this.state = prepend(this.state, page.items);
      this.render();
      byId("transcript").scrollTop += byId("transcript").scrollHeight - before;
    } catch (error) {
      this.onError(error.message);
    }
    button.disabled = false;
  }

  scrolled() {
    byId("to-end").hidden = this.transcript.following;
  }
}
