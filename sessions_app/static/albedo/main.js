// Starts what the page has places for.

import { byId } from "./dom.js";
import { SessionList } from "./list.js";
import { SessionPage } from "./session.js";

const sessionId = document.body.dataset.sessionId || null;

new SessionList(sessionId);
if (sessionId) new SessionPage(sessionId);

const sidebar = byId("sidebar");
byId("menu").addEventListener("click", () => {
  const open = sidebar.classList.toggle("open");
  byId("menu").setAttribute("aria-expanded", String(open));
});
byId("new-here")?.addEventListener("click", () => byId("new-session").click());
