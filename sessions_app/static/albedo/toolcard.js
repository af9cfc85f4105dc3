// One tool call from its first character to its result: the card stays, its parts fill.

import { el, formatDuration, setText } from "./dom.js";
import { codeBlock } from "./markup.js";
import { boundedText, pagedContent } from "./pages.js";
import { resultElements, sizeText } from "./results.js";
import { visible } from "./safe.js";

const WORDS = {
  generating: "being written",
  running: "running",
  waiting_approval: "waits for approval",
  ok: "done",
  error: "error",
  interrupted: "interrupted",
  timeout: "timed out",
  died: "kernel died",
  lost: "outcome unknown",
  denied: "denied",
};
// A short call is seen at once; a long one is opened by whoever wants it.
const OPEN_LINES = 40;

export class ToolCard {
  constructor(sessionId, name) {
    this.sessionId = sessionId;
    this.title = el("span", { class: "tool-name", text: visible(name) });
    this.chip = el("span", { class: "chip" });
    this.facts = el("span", { class: "quiet tool-facts" });
    this.called = el("div", { class: "tool-called" });
    this.printed = el("div", { class: "tool-printed" });
    const summary = el("summary", {}, this.title, this.chip, this.facts);
    this.element = el("details", { class: "tool", open: true }, summary, this.called, this.printed);
    this.done = false;
  }

  status(word) {
    setText(this.chip, WORDS[word] ?? visible(word));
    this.element.dataset.status = word;
  }

  // What a progress object says while the call is written or runs.
  progress(progress) {
    if (this.done) return;
    setText(this.title, visible(progress.name));
    this.status(progress.phase);
    setText(this.facts, sizeText(progress.arguments_chars));
    if (progress.preview && !this.entry) this.preview(progress.preview);
  }

  // A window on the value that is written: its offset is shown, so that nobody takes it for the whole.
  preview({ offset_scalars, text }) {
    if (!this.window) {
      this.mark = el("p", { class: "quiet mark" });
      this.window = el("pre", { class: "preview" });
      this.called.replaceChildren(this.mark, this.window);
    }
    this.mark.hidden = offset_scalars === 0;
    setText(this.mark, `… ${sizeText(offset_scalars)} before this`);
    setText(this.window, visible(text));
  }

  // Output of the running call; null where it has printed nothing.
  output(tail) {
    if (this.done || !tail) return;
    if (!this.live) {
      this.live = el("pre", { class: "output live", "aria-label": "Live output" });
      this.printed.replaceChildren(this.live);
    }
    const skipped = tail.offset_scalars > 0 ? `… ${sizeText(tail.offset_scalars)} before this\n` : "";
    setText(this.live, skipped + visible(tail.text.slice(-16_384)));
    this.live.scrollTop = this.live.scrollHeight;
  }

  // The `tool_call` entry: the arguments as they are kept.
  call(entry) {
    this.entry = entry;
    setText(this.title, visible(entry.tool.name));
    const [part] = entry.content;
    if (part?.kind === "reference") this.called.replaceChildren(pagedContent(part.reference, "full arguments"));
    else if (part) this.called.replaceChildren(argumentsElement(part.value));
    if (!this.done && !this.element.dataset.status) this.status("generating");
  }

  result(entry) {
    this.done = true;
    this.status(entry.tool.status);
    const duration = entry.tool.duration_ms;
    setText(this.facts, typeof duration === "number" ? formatDuration(duration) : "");
    this.printed.replaceChildren(...resultElements(this.sessionId, entry));
  }

  // No progress and no result any more: the run ended, or the attempt was voided.
  fade() {
    if (!this.done) this.status("interrupted");
  }
}

function argumentsElement(value) {
  const code = value && typeof value === "object" ? value.code : undefined;
  if (typeof code === "string") {
    const text = visible(code);
    if (text.split("\n").length <= OPEN_LINES && text.length <= 6_000) return codeBlock(text, "python");
    return boundedText(text, "code");
  }
  return boundedText(typeof value === "string" ? value : JSON.stringify(value, null, 2), "code");
}
