// The conversation on the page: history by position, then what is live. Keyed, so that nothing is drawn twice.

import { el } from "./dom.js";
import { entryElement } from "./entries.js";
import { LiveMessage } from "./live.js";
import { ToolCard } from "./toolcard.js";

const NEAR_END_PX = 120;

export class Transcript {
  constructor({ scroller, history, live, sessionId }) {
    Object.assign(this, { scroller, history, live, sessionId });
    this.message = new LiveMessage();
    this.calls = el("div", { class: "live-calls" });
    live.append(this.message.element, this.calls);
    this.clear();
    // Whoever reads at the end stays there, also when a picture arrives late; whoever scrolled up is left alone.
    this.following = true;
    scroller.addEventListener("scroll", () => {
      this.following = this.nearEnd();
    });
    const growth = new ResizeObserver(() => this.following && this.toEnd());
    for (const element of [scroller, history, live]) growth.observe(element);
  }

  clear() {
    this.rows = new Map();
    this.cards = new Map();
    this.history.replaceChildren();
    this.calls.replaceChildren();
  }

  nearEnd() {
    const { scrollHeight, scrollTop, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
  }

  toEnd() {
    this.following = true;
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  update(state) {
    this.entries(state.history.items);
    this.message.update(state.current_message);
    this.progress(state);
    if (this.following) this.toEnd();
  }

  card(callId, name) {
    if (!this.cards.has(callId)) this.cards.set(callId, new ToolCard(this.sessionId, name));
    return this.cards.get(callId);
  }

  entries(items) {
    if (items.length && this.rows.size && !items.some((entry) => this.rows.has(entry.position))) this.clear();
    const fresh = items.filter((entry) => !this.rows.has(entry.position));
    if (fresh.length === 0) return;
    const first = Math.min(...this.rows.keys());
    const older = el("ol");
    for (const entry of fresh) {
      const row = this.row(entry);
      this.rows.set(entry.position, row);
      if (row) (entry.position < first ? older : this.history).append(row);
    }
    this.history.prepend(...older.children);
  }

  // The list item of an entry; null where the entry goes into a card that has its place already.
  row(entry) {
    const callId = entry.tool?.progress_call_id ?? entry.tool?.tool_call_id;
    if (entry.kind !== "tool_call" && entry.kind !== "tool_result") {
      return el("li", { data: { position: entry.position } }, entryElement(entry));
    }
    const known = this.cards.has(callId);
    const card = this.card(callId, entry.tool.name);
    if (entry.kind === "tool_result") card.result(entry);
    else card.call(entry);
    const placed = known && this.history.contains(card.element);
    return placed ? null : el("li", { data: { position: entry.position } }, card.element);
  }

  progress({ current_progress: progress, current_output: output, status }) {
    const alive = new Set(progress.map((item) => item.call_id));
    for (const item of progress) {
      const card = this.card(item.call_id, item.name);
      if (!card.element.isConnected) this.calls.append(card.element);
      card.progress(item);
      card.output(output.find((tail) => tail.call_id === item.call_id));
    }
    for (const [callId, card] of this.cards) {
      if (alive.has(callId) || card.done) continue;
      // A card without an entry was provisional: its attempt is void.
      if (!card.entry) {
        card.element.remove();
        this.cards.delete(callId);
      } else if (status.phase === "idle") {
        card.fade();
      }
    }
  }
}
