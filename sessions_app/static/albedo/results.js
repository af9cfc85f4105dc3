// How a finished call's result is shown: output, error, images, pages in a sandbox.

import { el, formatCount } from "./dom.js";
import { boundedText, pagedContent } from "./pages.js";
import { ownPath, visible } from "./safe.js";

// The result of `python` as an object, or null where it is not of that form.
export function parseResult(text) {
  try {
    const value = JSON.parse(text);
    return value && typeof value === "object" && typeof value.output === "string" ? value : null;
  } catch {
    return null;
  }
}

const ID = /^[0-9a-f-]{36}$/;
const PICTURES = /^image\/(png|jpeg|gif|webp)$/;
const PAGES = new Set(["text/html", "image/svg+xml"]);

function image(url, item) {
  const alt = item.text ? visible(item.text).slice(0, 200) : "Picture from the code";
  const { width, height } = item;
  const picture = el("img", { src: url, alt, loading: "lazy", width, height });
  return el("a", { href: url, target: "_blank", rel: "noopener", class: "picture" }, picture);
}

// A page of the code's making runs nothing and reaches nothing: it has an origin of its own and no scripts.
function page(sessionId, artifactId, url) {
  const src = `/sessions/${sessionId}/frames/${artifactId}/`;
  const frame = el("iframe", { src, sandbox: "", title: "Page from the code", loading: "lazy" });
  return el("figure", { class: "page" }, frame, el("a", { href: url, download: true, text: "Download" }));
}

// One display of a result; null where it was shown before.
function display(sessionId, item, seen) {
  const id = ID.test(item.artifact ?? "") ? item.artifact : null;
  const url = id ? ownPath(`/api/sessions/${sessionId}/artifacts/${id}`) : ownPath(item.url);
  if (!url) return item.text ? boundedText(String(item.text), "output") : null;
  if (seen.has(url)) return null;
  seen.add(url);
  if (PICTURES.test(item.mime_type)) return image(url, item);
  if (id && PAGES.has(item.mime_type)) return page(sessionId, id, url);
  return el("a", { href: url, text: item.mime_type || "File", download: true });
}

function errorBlock(error) {
  const title = el("p", { class: "error-title", text: `${error.name ?? "Error"}: ${error.message ?? ""}` });
  const trace = error.traceback ? boundedText(String(error.traceback), "trace") : null;
  return el("div", { class: "error-block" }, title, trace);
}

function resultBlocks(sessionId, text, seen) {
  const result = parseResult(text);
  if (!result) return [boundedText(text, "output")];
  const blocks = [];
  if (result.output) blocks.push(boundedText(result.output, "output"));
  if (result.truncated) blocks.push(el("p", { class: "quiet", text: "The model got this output cut in the middle." }));
  if (result.error) blocks.push(errorBlock(result.error));
  for (const item of Array.isArray(result.displays) ? result.displays : []) {
    blocks.push(display(sessionId, item, seen));
  }
  if (blocks.length === 0) blocks.push(el("p", { class: "quiet", text: "No output." }));
  return blocks;
}

// All blocks of a `tool_result` entry, or of a `tool` event made into one.
export function resultElements(sessionId, entry) {
  const seen = new Set();
  const blocks = [];
  for (const part of entry.content) {
    if (part.kind === "json") blocks.push(...resultBlocks(sessionId, String(part.value), seen));
    else if (part.kind === "image" && part.mime_type !== "image/svg+xml") blocks.push(display(sessionId, part, seen));
    else if (part.kind === "reference") blocks.push(pagedContent(part.reference, `full ${part.reference.field}`));
    else if (part.kind === "text") blocks.push(boundedText(part.text, "output"));
  }
  return blocks.filter(Boolean);
}

export function sizeText(characters) {
  return `${formatCount(characters)} ${characters === 1 ? "character" : "characters"}`;
}
