// The session's heading: name, state, connection, usage, and the dialog that changes its settings.

import { patch, request } from "./api.js";
import { byId, formatCount, setText } from "./dom.js";
import { visible } from "./safe.js";

const PHASES = {
  idle: "Ready",
  preparing: "Preparing…",
  generating: "Writing…",
  running: "Running code…",
  waiting_approval: "Waits for approval",
  interrupting: "Stopping…",
};

export function showStatus(status) {
  const word = status.interrupt_requested ? PHASES.interrupting : PHASES[status.phase] ?? status.phase;
  setText(byId("phase"), status.blocking_reason ? `${word} (${visible(status.blocking_reason)})` : word);
  byId("phase").dataset.phase = status.phase;
}

export function showConnection({ kind, text }) {
  setText(byId("connection-text"), text);
  byId("connection").dataset.kind = kind;
  byId("connect-now").hidden = kind !== "waiting";
}

// Unknown is shown as unknown, never as zero.
export function showUsage(usage) {
  const known = (value) => (typeof value === "number" ? formatCount(value) : "?");
  if (!usage || usage.source === "unknown" || usage.source === undefined) return setText(byId("usage"), "");
  const about = usage.source === "estimated" ? "about " : "";
  const cost = typeof usage.cost === "number" ? `, $${usage.cost.toFixed(4)}` : "";
  return setText(byId("usage"), `${about}${known(usage.input_tokens)} in, ${known(usage.output_tokens)} out${cost}`);
}

const NAME_UNITS = 60;
const FIELDS = ["name", "provider", "model", "instructions"];

export class SessionHeader {
  constructor({ sessionId, onError }) {
    Object.assign(this, { sessionId, onError });
    this.path = `/api/sessions/${sessionId}`;
    this.dialog = byId("settings");
    byId("settings-open").addEventListener("click", () => this.open());
    byId("settings-cancel").addEventListener("click", () => this.dialog.close());
    byId("settings-form").addEventListener("submit", (event) => this.save(event));
    byId("settings-archive").addEventListener("click", () => this.archive());
    byId("settings-delete").addEventListener("click", () => this.remove());
  }

  show(session) {
    this.session = session;
    const name = visible(session.name || "Untitled session");
    setText(byId("session-name"), name);
    document.title = `${name} · Albedo`;
    setText(byId("session-model"), visible([session.provider, session.model].filter(Boolean).join(" · ")));
    setText(byId("settings-archive"), session.archived ? "Take out of the archive" : "Archive");
  }

  // A session that has no name yet is called by the first thing that was asked in it.
  nameAfter(text) {
    if (!this.session || this.session.name) return;
    const line = text.split("\n").find((each) => each.trim() && !each.startsWith("```"))?.trim() ?? "";
    if (!line) return;
    const name = line.length > NAME_UNITS ? `${line.slice(0, NAME_UNITS).trimEnd()}…` : line;
    this.change({ name });
  }

  open() {
    if (!this.session) return;
    for (const field of FIELDS) byId(`settings-${field}`).value = this.session[field] ?? "";
    setText(byId("settings-workspace"), visible(this.session.workspace ?? ""));
    this.dialog.showModal();
  }

  async change(fields) {
    try {
      const session = await patch(this.path, fields);
      this.show({ ...this.session, ...session });
      this.dialog.close();
    } catch (error) {
      setText(byId("settings-error"), error.message);
    }
  }

  save(event) {
    event.preventDefault();
    const fields = {};
    for (const field of FIELDS) {
      const value = byId(`settings-${field}`).value;
      if (value !== (this.session[field] ?? "")) fields[field] = value;
    }
    if (Object.keys(fields).length === 0) return this.dialog.close();
    return this.change(fields);
  }

  archive() {
    return this.change({ archived: !this.session.archived });
  }

  async remove() {
    if (!window.confirm("Delete this session, its history and its kernel's state?")) return;
    try {
      await request("DELETE", `${this.path}?force=true`);
      location.assign("/");
    } catch (error) {
      setText(byId("settings-error"), error.message);
    }
  }
}
