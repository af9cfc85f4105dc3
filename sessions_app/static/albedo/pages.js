// Large arguments, results and texts: fetched page by page, only when somebody asks.

import { get } from "./api.js";
import { el, formatCount } from "./dom.js";
import { ownPath, visible } from "./safe.js";

const withNext = (url, next) => (next ? `${url}${url.includes("?") ? "&" : "?"}next=${encodeURIComponent(next)}` : url);

// A block for one reference: a button that loads the first page, then the next, until all is there.
export function pagedContent(reference, label) {
  const url = ownPath(reference.url);
  const size = formatCount(reference.bytes);
  const note = el("span", { class: "quiet" });
  if (!url) return el("p", { class: "quiet", text: `${label}: ${size} bytes, not shown here.` });
  const button = el("button", { type: "button", class: "link", text: `Show ${label} (${size} bytes)` });
  const pre = el("pre", { tabindex: "0", hidden: true });
  let next = null;
  let loaded = 0;
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      const page = await get(withNext(url, next));
      for (const part of page.parts) {
        pre.append(visible(part.text));
        loaded = part.offset_bytes + new TextEncoder().encode(part.text).length;
      }
      pre.hidden = false;
      next = page.next;
      button.hidden = next === null;
      button.textContent = "Load more";
      note.textContent = ` ${formatCount(loaded)} of ${size} bytes`;
    } catch (error) {
      note.textContent = ` ${error.message}`;
    }
    button.disabled = false;
  });
  return el("div", { class: "paged" }, pre, button, note);
}

// Text that is here already but long: its beginning, and a button for the rest.
const SHOWN_UNITS = 6_000;

export function boundedText(text, className = "") {
  const clean = visible(text);
  const pre = el("pre", { tabindex: "0", class: className });
  if (clean.length <= SHOWN_UNITS) {
    pre.textContent = clean;
    return pre;
  }
  const head = clean.slice(0, SHOWN_UNITS / 2);
  const tail = clean.slice(-SHOWN_UNITS / 2);
  pre.textContent = `${head}\n…\n${tail}`;
  const label = `Show all ${formatCount(clean.length)} characters`;
  const button = el("button", { type: "button", class: "link", text: label });
  button.addEventListener("click", () => {
    pre.textContent = clean;
    button.remove();
  });
  return el("div", { class: "paged" }, pre, button);
}
