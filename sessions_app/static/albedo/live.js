// The answer while it is written: provisional text and thinking, grown in place.

import { el, setText } from "./dom.js";
import { sizeText } from "./results.js";
import { visible } from "./safe.js";

// A window of growing text in one element; only what is new is added to the page.
class Growing {
  constructor(className) {
    this.mark = el("p", { class: "quiet mark", hidden: true });
    this.text = document.createTextNode("");
    this.element = el("div", { class: className, hidden: true }, this.mark, el("p", { class: "plain" }, this.text));
    this.clear();
  }

  clear() {
    this.shown = { offset: 0, source: "" };
    this.text.data = "";
    this.element.hidden = true;
  }

  show(tail) {
    const { offset, source } = this.shown;
    if (tail.offset_scalars === offset && tail.text.length >= source.length && tail.text.startsWith(source)) {
      if (tail.text.length > source.length) this.text.appendData(visible(tail.text.slice(source.length)));
    } else {
      this.text.data = visible(tail.text);
    }
    this.shown = { offset: tail.offset_scalars, source: tail.text };
    this.mark.hidden = tail.offset_scalars === 0;
    setText(this.mark, `… ${sizeText(tail.offset_scalars)} before this`);
    this.element.hidden = tail.text === "";
  }
}

export class LiveMessage {
  constructor() {
    this.thinking = new Growing("growing");
    this.answer = new Growing("growing");
    this.thought = el("details", { class: "thinking", open: true, hidden: true });
    this.thought.append(el("summary", { text: "Thinking" }), this.thinking.element);
    this.element = el("article", { class: "said assistant provisional", hidden: true }, this.thought, this.answer.element);
    this.key = "";
  }

  update(message) {
    const key = message ? `${message.message_id}/${message.attempt}` : "";
    if (key !== this.key) {
      this.thinking.clear();
      this.answer.clear();
    }
    this.key = key;
    this.element.hidden = !message || (!message.text.text && !message.thinking.text);
    if (!message) return;
    this.thinking.show(message.thinking);
    this.answer.show(message.text);
    this.thought.hidden = !message.thinking.text;
  }
}
