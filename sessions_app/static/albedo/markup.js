// A little of Markdown, as elements: fences, headings, paragraphs, inline code, bold, links. No HTML, no images.
// One pass over the lines and one over each line's characters: odd input costs no more than long input.

import { el } from "./dom.js";
import { safeUrl, visible } from "./safe.js";

const FENCE = /^ {0,3}(```+|~~~+)\s*([\w+#.-]{0,30})/;
const INLINE = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\[([^[\]\n]{1,300})\]\((https?:\/\/[^\s()]{1,2000})\)|(https?:\/\/[^\s<>"'`()[\]]{1,2000})/g;

export function link(href, text) {
  const url = safeUrl(href);
  if (url === null) return document.createTextNode(text);
  return el("a", { href: url, rel: "noopener noreferrer nofollow", target: "_blank", title: url, text });
}

function inline(line) {
  const parts = [];
  let end = 0;
  for (const match of line.matchAll(INLINE)) {
    const [whole, code, bold, label, target, bare] = match;
    if (match.index > end) parts.push(line.slice(end, match.index));
    if (code !== undefined) parts.push(el("code", { text: code }));
    else if (bold !== undefined) parts.push(el("strong", { text: bold }));
    else if (label !== undefined) parts.push(link(target, label));
    else parts.push(link(bare, bare));
    end = match.index + whole.length;
  }
  parts.push(line.slice(end));
  return parts;
}

function paragraph(lines) {
  const text = lines.join("\n");
  const heading = lines.length === 1 ? /^#{1,6} +(.*)$/.exec(text) : null;
  if (heading) return el("p", { class: "heading" }, ...inline(heading[1]));
  return el("p", {}, ...inline(text));
}

export function codeBlock(text, language = "") {
  const copy = el("button", { type: "button", class: "copy", text: "Copy", "aria-label": "Copy the code" });
  copy.addEventListener("click", async () => {
    await navigator.clipboard?.writeText(text);
    copy.textContent = "Copied";
  });
  const bar = el("figcaption", {}, el("span", { text: language }), copy);
  return el("figure", { class: "code" }, bar, el("pre", { tabindex: "0" }, el("code", { text })));
}

export function markup(text) {
  const blocks = document.createDocumentFragment();
  let lines = [];
  let fence = null;
  const flush = () => {
    if (lines.length) blocks.append(fence ? codeBlock(lines.join("\n"), fence.language) : paragraph(lines));
    lines = [];
  };
  for (const line of visible(text).split("\n")) {
    const mark = FENCE.exec(line);
    if (fence ? mark && line.trim().startsWith(fence.mark) : mark) {
      flush();
      fence = fence ? null : { mark: mark[1], language: mark[2] };
    } else if (!fence && (line.trim() === "" || /^#{1,6} /.test(line))) {
      flush();
      if (line.trim()) blocks.append(paragraph([line]));
    } else {
      lines.push(line);
    }
  }
  flush();
  return blocks;
}
