// The browser's part: it puts pieces in place as they change, and shows how long ago moments were. Every page works without it.

const ages = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];

function length(seconds) {
  const [size, unit] = ages.find(([size]) => seconds >= size) ?? [1, "s"];
  return Math.floor(seconds / size) + unit;
}

function age(moment, since) {
  const seconds = Math.round((Date.now() - moment.getTime()) / 1000);
  if (since) return "for " + length(Math.max(seconds, 0));
  return seconds < 0 ? "in " + length(-seconds) : length(seconds) + " ago";
}

function showAges(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    const text = age(moment, time.classList.contains("since"));
    if (time.textContent === text) continue;
    time.title = moment.toLocaleString();
    time.textContent = text;
  }
}

// The element stays and its content changes: who has the focus keeps it, and what is read out is read out once.
function swap(html) {
  const template = document.createElement("template");
  // A row is a row only where rows may be.
  template.innerHTML = html;
  const fresh = template.content.firstElementChild;
  const old = fresh && document.getElementById(fresh.id);
  if (!old || (old.getAttribute("role") === "status" && old.textContent === fresh.textContent)) return;
  const open = [...old.querySelectorAll("details")].map((it) => it.open);
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  const like = focused && (focused.id ? "#" + CSS.escape(focused.id) : focused.href ? `a[href="${CSS.escape(focused.getAttribute("href"))}"]` : focused.localName);
  const number = like ? [...old.querySelectorAll(like)].indexOf(focused) : -1;
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) old.setAttribute(name, value);
  const parts = old.querySelectorAll(":scope > [role=status]");
  if (parts.length === 1 && fresh.querySelectorAll(":scope > [role=status]").length === 1) {
    // A region that is read out is kept, and touched only if its words are others.
    const [kept, next] = [parts[0], fresh.querySelector(":scope > [role=status]")];
    if (kept.textContent !== next.textContent) kept.replaceChildren(...next.childNodes);
    next.replaceWith(kept);
  }
  old.replaceChildren(...fresh.childNodes);
  old.querySelectorAll("details").forEach((it, number) => { it.open = open[number] ?? false; });
  showAges(old);
  if (like) old.querySelectorAll(like)[number]?.focus();
}

const main = document.querySelector("main[data-live]");
const link = document.getElementById("link");
const [soonest, latest] = [1000, 30000];
let source = null;
let again = 0;
let wait = soonest;
let address = main?.dataset.live;

function disconnect() {
  clearTimeout(again);
  source?.close();
  source = null;
}

function connect() {
  disconnect();
  source = new EventSource(address);
  // Who comes back wants everything: what was said on the way out may not be so any more.
  address = address.replace(/&seen=\d+$/, "");
  source.addEventListener("open", () => { wait = soonest; if (link) link.textContent = ""; });
  source.addEventListener("error", () => {
    if (link) link.textContent = link.dataset.lost;
    // A browser comes back by itself after a connection has broken, and does not after an answer that is none.
    if (source?.readyState !== EventSource.CLOSED) return;
    clearTimeout(again);
    again = setTimeout(connect, wait);
    wait = Math.min(wait * 2, latest);
  });
  source.addEventListener("piece", (event) => swap(event.data));
  // Signed out, or a page that is no more: the server says what to do.
  source.addEventListener("reload", () => { disconnect(); location.reload(); });
}

showAges(document);
setInterval(() => showAges(document), 1000);
if (main) {
  connect();
  // A page that nobody sees needs no connection, of which a browser has few.
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) disconnect(); else if (!source) connect();
  });
}
