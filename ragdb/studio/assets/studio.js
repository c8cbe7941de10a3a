// Keys, and forms that are sent once: every page works without this file.
(() => {
  "use strict";
  let prefix = false;
  const typing = (element) =>
    element instanceof HTMLElement && element.matches("input, textarea, select, [contenteditable]");

  function move(step) {
    const cards = [...document.querySelectorAll("[data-row], .hit")];
    if (!cards.length) return;
    const at = cards.indexOf(document.activeElement);
    cards[Math.min(cards.length - 1, Math.max(0, at < 0 ? 0 : at + step))].focus();
  }

  // what records something is pressed once, also where the answer takes its time
  const sent = new WeakSet();
  document.addEventListener("submit", (event) => {
    if (event.target.method !== "post") return;
    if (sent.has(event.target)) event.preventDefault();
    sent.add(event.target);
  });

  // keys without Ctrl are in the way of who speaks to the browser; a browser may keep nothing
  const KEPT = "ragdb-studio-keys";
  let areOff = false;
  try { areOff = localStorage.getItem(KEPT) === "off"; } catch { /* they are on, then */ }
  const button = document.querySelector("button.keys");

  function tell() {
    document.documentElement.classList.toggle("keyless", areOff);
    if (button) button.textContent = areOff ? "Switch shortcuts on" : "Switch shortcuts off";
  }
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => {
      areOff = !areOff;
      try { localStorage.setItem(KEPT, areOff ? "off" : "on"); } catch { /* for this page, then */ }
      tell();
    });
  }
  tell();

  document.addEventListener("keydown", (event) => {
    const question = document.querySelector("input[type=search]");
    if ((event.ctrlKey || event.metaKey) && event.key === "k" && question) {
      event.preventDefault();
      question.select();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && typing(event.target)) event.target.blur();
    if (typing(event.target)) return;
    if (event.key === "Enter" && document.activeElement.matches(".hit, [data-row]")) {
      const row = document.activeElement;
      const why = row.querySelector("details");
      const link = row.querySelector("a[href]");
      if (why) why.open = !why.open;
      else if (link) link.click();
    }
    if (areOff) return;
    if (prefix) {
      prefix = false;
      const link = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
      if (link) link.click();
    } else if (event.key === "g") prefix = true;
    else if (event.key === "/" && question) {
      event.preventDefault();
      question.select();
    } else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
  });
})();
