// How a finished call's result is shown: output, error, images, pages in a sandbox.

import { el, formatCount } from "./dom.js";
import { boundedText, pagedContent } from "./pages.js";
import { ownPath } from "./safe.js";

// The result of `python` as an object, or null where it is not of that form.
export function parseResult(text) {
  try {
    const value = JSON.parse(text);
    return value && typeof value === "object" && typeof value.output === "string" ? value : null;
  } catch {
    return null;
  }
}

function artifactUrl(sessionId, display) {
  if (display.url) return ownPath(display.url);
  const id = display.artifact_id ?? display.id;
  return typeof id === "string" ? ownPath(`/api/sessions/${sessionId}/artifacts/${id}`) : null;
}

function image(url, display) {
  const { width, height } = display;
  const picture = el("img", { src: url, alt: display.name || "Image from the code", loading: "lazy", width, height });
  return el("a", { href: url, target: "_blank", rel: "noopener", class: "picture" }, picture);
}

// Pages run in an origin of their own: no script of theirs reaches this page, its cookies or the API.
function page(url) {
  const frame = el("iframe", { src: url, sandbox: "allow-scripts", title: "Page from the code", loading: "lazy" });
  frame.setAttribute("referrerpolicy", "no-referrer");
  return el("figure", { class: "page" }, frame, el("a", { href: url, target: "_blank", rel: "noopener", text: "Open alone" }));
}

function display(sessionId, item, seen) {
  const url = artifactUrl(sessionId, item);
  const mime = item.mime_type ?? "";
  if (!url || seen.has(url)) return item.text ? boundedText(String(item.text)) : null;
  seen.add(url);
  if (/^image\/(png|jpeg|gif|webp)$/.test(mime)) return image(url, item);
  if (mime === "text/html" || mime === "image/svg+xml") return page(url);
  return el("a", { href: url, text: item.name || mime || "File", download: true });
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
    else if (part.kind === "image") blocks.push(display(sessionId, part, seen));
    else if (part.kind === "reference") blocks.push(pagedContent(part.reference, `full ${part.reference.field}`));
    else if (part.kind === "text") blocks.push(boundedText(part.text, "output"));
  }
  return blocks.filter(Boolean);
}

export function sizeText(characters) {
  return `${formatCount(characters)} ${characters === 1 ? "character" : "characters"}`;
}
