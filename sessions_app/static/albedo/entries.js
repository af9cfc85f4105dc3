// History entries as elements. Calls and results are the transcript's business: they share a card.

import { el, formatWhen } from "./dom.js";
import { markup } from "./markup.js";
import { pagedContent } from "./pages.js";
import { ownPath, visible } from "./safe.js";

function part(item, plain) {
  if (item.kind === "text") return plain ? el("p", { class: "plain", text: visible(item.text) }) : markup(item.text);
  if (item.kind === "image" && ownPath(item.url)) {
    return el("img", { src: item.url, alt: "Attached image", loading: "lazy", width: item.width, height: item.height });
  }
  if (item.kind === "reference") return pagedContent(item.reference, "the whole text");
  return null;
}

const parts = (entry, plain = false) => entry.content.map((item) => part(item, plain)).filter(Boolean);

function thinking(entry) {
  const summary = el("summary", { text: "Thinking" });
  return el("details", { class: "thinking" }, summary, ...parts(entry, true));
}

function said(entry, who) {
  const when = el("time", { datetime: entry.created_at, class: "quiet", text: formatWhen(entry.created_at) });
  const cut = entry.truncated ? el("p", { class: "quiet", text: "The provider cut this answer short." }) : null;
  const body = el("div", { class: "body" }, ...parts(entry), cut);
  return el("article", { class: `said ${who}` }, el("h2", { class: "unseen", text: who }), body, when);
}

// The element of an entry that is neither a call nor a result.
export function entryElement(entry) {
  if (entry.kind === "thinking") return thinking(entry);
  if (entry.kind === "note") return el("p", { class: "note", role: "note" }, ...parts(entry, true));
  return said(entry, entry.kind === "user" ? "user" : "assistant");
}
