// The list of sessions: read from the API, read again when the socket says that something changed.

import { get, post } from "./api.js";
import { byId, el, formatWhen } from "./dom.js";
import { visible } from "./safe.js";
import { Stream } from "./stream.js";

const SETTLE_MS = 250;
const PAGE = 50;

export class SessionList {
  constructor(currentId) {
    this.currentId = currentId;
    this.pages = 1;
    this.search = byId("search");
    this.archived = byId("archived");
    this.search.addEventListener("input", () => this.restart());
    this.archived.addEventListener("change", () => this.restart());
    byId("more").addEventListener("click", () => {
      this.pages += 1;
      this.read();
    });
    byId("new-session").addEventListener("click", () => this.create());
    this.stream = new Stream({
      address: () => "/ws/sessions",
      probe: "/api/sessions?limit=1",
      onMessage: (message) => this.receive(message),
      onState: () => undefined,
    });
    this.stream.open();
    this.later();
  }

  // Every kind of message means the same here: what is on the page may be old.
  receive(message) {
    if (message.events?.length) this.later();
  }

  restart() {
    this.pages = 1;
    this.later();
  }

  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.read(), SETTLE_MS);
  }

  query(next) {
    const query = new URLSearchParams({ limit: PAGE, archived: this.archived.checked });
    const text = this.search.value.trim();
    if (text) query.set("search", text);
    if (next) query.set("next", next);
    return `/api/sessions?${query}`;
  }

  async read() {
    this.asked = (this.asked ?? 0) + 1;
    const asked = this.asked;
    const items = [];
    let next = null;
    try {
      for (let page = 0; page < this.pages; page += 1) {
        const answer = await get(this.query(next));
        items.push(...answer.items);
        next = answer.next;
        if (!next) break;
      }
    } catch (error) {
      byId("list-error").textContent = error.message;
      return;
    }
    if (asked !== this.asked) return;
    byId("list-error").textContent = "";
    this.draw(items, next);
  }

  draw(items, next) {
    byId("sessions").replaceChildren(...items.map((item) => this.row(item)));
    byId("none").hidden = items.length > 0;
    byId("more").hidden = next === null;
  }

  row(session) {
    const phase = session.status?.phase ?? session.status ?? "idle";
    const name = el("span", { class: "row-name", text: visible(session.name || "Untitled session") });
    const dot = el("span", { class: "dot", data: { phase }, title: phase, "aria-label": phase });
    const when = el("time", { class: "quiet", datetime: session.activity_at, text: formatWhen(session.activity_at) });
    const current = session.id === this.currentId ? "page" : false;
    return el("li", {}, el("a", { href: `/sessions/${session.id}/`, "aria-current": current }, dot, name, when));
  }

  async create() {
    byId("new-session").disabled = true;
    try {
      const session = await post("/api/sessions", {});
      location.assign(`/sessions/${session.id}/`);
    } catch (error) {
      byId("list-error").textContent = error.message;
      byId("new-session").disabled = false;
    }
  }
}
