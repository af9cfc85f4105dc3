// What waits: inputs in the queue, each with its cancel, and calls that need somebody's word.

import { post } from "./api.js";
import { el } from "./dom.js";
import { boundedText } from "./pages.js";
import { visible } from "./safe.js";

const HOW = { steer: "joins the next step", interrupt: "interrupts", queue: "waits its turn" };

function action(label, run, onError, className = "small") {
  const button = el("button", { type: "button", class: className, text: label });
  button.addEventListener("click", async () => {
    button.disabled = true;
    try {
      await run();
    } catch (error) {
      button.disabled = false;
      onError(error.message);
    }
  });
  return button;
}

function inputRow(sessionId, input, onError) {
  const cancel = () => post(`/api/sessions/${sessionId}/inputs/${input.id}/cancel`);
  const text = el("span", { class: "pending-text", text: visible(input.text ?? input.preview ?? "").slice(0, 300) });
  const how = el("span", { class: "quiet", text: HOW[input.when_busy] ?? "waits" });
  return el("li", {}, text, how, action("Cancel", cancel, onError));
}

function approvalRow(sessionId, approval, onError) {
  const decide = (decision) => () => post(`/api/sessions/${sessionId}/approvals/${approval.id}`, { decision });
  const name = el("p", {}, el("strong", { text: visible(approval.name ?? "A call") }), " asks to run.");
  const code = approval.arguments ?? approval.preview;
  const shown = code === undefined || code === null ? null : boundedText(typeof code === "string" ? code : JSON.stringify(code, null, 2));
  const approve = action("Approve", decide("approve"), onError, "small primary");
  return el("li", { class: "approval" }, name, shown, el("p", {}, approve, action("Deny", decide("deny"), onError)));
}

// Draws both lists again only when they changed, so that a button under a finger stays.
export function pendingView({ element, sessionId, onError }) {
  let drawn = "[]";
  return (inputs, approvals) => {
    const key = JSON.stringify([...inputs, ...approvals]);
    if (key === drawn) return;
    drawn = key;
    element.replaceChildren(
      ...approvals.map((approval) => approvalRow(sessionId, approval, onError)),
      ...inputs.map((input) => inputRow(sessionId, input, onError)),
    );
    element.hidden = inputs.length + approvals.length === 0;
  };
}
