// Short words beside the conversation: errors, retries, notes. Bounded in number; the newest is last.

import { el } from "./dom.js";
import { visible } from "./safe.js";

const KEPT = 6;

export function noticesView(element) {
  const add = (kind, text) => {
    const words = visible(String(text)).slice(0, 600);
    // An error and the end of its run say the same.
    const newest = element.lastElementChild;
    if (newest?.className === kind && newest.firstElementChild.textContent === words) return;
    const close = el("button", { type: "button", class: "close", text: "×", "aria-label": "Dismiss" });
    const row = el("li", { class: kind }, el("span", { text: words }), close);
    close.addEventListener("click", () => row.remove());
    element.append(row);
    while (element.children.length > KEPT) element.firstElementChild.remove();
  };
  const drop = (kind) => element.querySelectorAll(`.${kind}`).forEach((row) => row.remove());
  return { add, drop };
}

function causeText(data) {
  const cause = typeof data.cause === "string" ? data.cause : data.cause?.code ?? "error";
  return data.detail ? `${cause}: ${data.detail}` : cause;
}

// What an event says in words, or nothing.
export function announce(notices, event) {
  const { type, data } = event;
  if (type === "retry") {
    notices.drop("retry");
    notices.add("retry", `Attempt ${data.attempt} failed (${causeText(data)}). Trying again in ${(data.delay_ms / 1000).toFixed(1)} s.`);
  } else if (type === "note") {
    notices.add("info", data.text || data.code);
  } else if (type === "error") {
    notices.add("error", data.detail || data.code);
  } else if (type === "message" && data.entry.kind === "user") {
    // What the run before had to say is past once the next one begins.
    for (const kind of ["retry", "info", "error"]) notices.drop(kind);
  } else if (type === "text" || type === "tool_progress") {
    notices.drop("retry");
  } else if (type === "turn_completed") {
    notices.drop("retry");
    if (data.outcome === "interrupted") notices.add("info", "The run was interrupted.");
    if (data.outcome === "failed" || data.outcome === "abandoned") {
      notices.add("error", data.error?.detail ?? data.error?.code ?? `The run is ${data.outcome}.`);
    }
  }
}
