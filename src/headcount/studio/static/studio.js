// What pages do in the browser beyond htmx: keys, dialogs, toasts, and a connection that is lost and comes back.
"use strict";
(() => {
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const one = (what) => document.querySelector(what);

  // Toasts: said politely, and gone by themselves unless something is wrong.
  function toast(words, bad = false) {
    if (all(".toast p").some((each) => each.textContent === words)) return;
    const box = document.createElement("div");
    box.className = bad ? "toast bad" : "toast";
    const said = document.createElement("p");
    said.textContent = words;
    const close = document.createElement("button");
    close.type = "button";
    close.textContent = "×";
    close.setAttribute("aria-label", "Close");
    close.addEventListener("click", () => box.remove());
    box.append(said, close);
    one("[data-toasts]").append(box);
    if (!bad) setTimeout(() => box.remove(), 6000);
  }

  function announce(within) {
    for (const each of all("[data-toast]", within)) {
      toast(each.dataset.toast, each.dataset.tone === "bad");
      each.removeAttribute("data-toast");
    }
  }

  // Questions before what cannot be undone.
  function ask(words) {
    const dialog = one("#confirm");
    one("#confirm-words").textContent = words;
    dialog.returnValue = "no";
    dialog.showModal();
    return new Promise((answer) => {
      dialog.addEventListener("close", () => answer(dialog.returnValue === "yes"), { once: true });
    });
  }

  document.addEventListener("htmx:confirm", (event) => {
    if (!event.detail.question) return;
    event.preventDefault();
    ask(event.detail.question).then((yes) => yes && event.detail.issueRequest(true));
  });

  const sure = new WeakSet();
  document.addEventListener("submit", (event) => {
    const form = event.target;
    const words = event.submitter?.dataset.confirm ?? form.dataset.confirm;
    if (!words || sure.delete(form)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    ask(words).then((yes) => {
      if (!yes) return;
      sure.add(form);
      form.requestSubmit(event.submitter);
    });
  }, true);

  // A form that is on its way is not sent twice.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (event.defaultPrevented || form.method !== "post") return;
    setTimeout(() => all("button[type=submit]", form).forEach((each) => (each.disabled = true)));
  });
  window.addEventListener("pageshow", () => all("button[type=submit]:disabled").forEach((each) => (each.disabled = false)));

  // Keys: "/" searches, "?" helps, "g" and a letter goes somewhere, arrows walk through rows.
  let going = 0;
  const typing = (place) => place.closest("input, textarea, select, [contenteditable]");

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || one("dialog[open]")) return;
    const place = event.target;
    if (place instanceof Element && typing(place)) {
      if (event.key === "Escape") place.blur();
      return;
    }
    if (event.key === "/") {
      const search = one("[data-search]") ?? one("input[type=search]");
      if (search) {
        event.preventDefault();
        search.focus();
        search.select?.();
      }
    } else if (event.key === "?") {
      one("#keys").showModal();
    } else if (event.key === "g") {
      going = event.timeStamp;
    } else if (going && event.timeStamp - going < 1500 && /^[a-z]$/.test(event.key)) {
      going = 0;
      one(`[data-key="${event.key}"]`)?.click();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      walk(event);
    }
  });

  function walk(event) {
    const row = event.target.closest?.("[data-rows] > tr");
    if (!row) return;
    const step = event.key === "ArrowDown" ? "nextElementSibling" : "previousElementSibling";
    for (let next = row[step]; next; next = next[step]) {
      const link = next.querySelector("a, button");
      if (link) {
        event.preventDefault();
        link.focus();
        return;
      }
    }
  }

  document.addEventListener("click", (event) => {
    const opener = event.target.closest?.("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens)?.showModal();
    const back = event.target.closest?.("[data-back]");
    if (back && history.length > 1) {
      event.preventDefault();
      history.back();
    }
    const copier = event.target.closest?.("[data-copy]");
    if (copier) {
      const from = document.getElementById(copier.dataset.copy);
      navigator.clipboard?.writeText(from.value ?? from.textContent.trim()).then(
        () => toast("Copied."),
        () => toast("This browser does not let pages copy; mark the text and copy it.", true),
      );
    }
  });

  // What went wrong on the server is said without losing what is there; a form that comes back is put into place.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    if (xhr.status < 400) return;
    event.detail.isError = false;
    event.detail.shouldSwap = false;
    if (xhr.status === 401) return; // the answer says where to go
    const problem = problemOf(xhr);
    if (problem === null) event.detail.shouldSwap = true;
    else toast(problem, true);
  });

  function problemOf(xhr) {
    const kind = xhr.getResponseHeader("Content-Type") ?? "";
    try {
      if (kind.startsWith("application/json")) return JSON.parse(xhr.responseText).message;
      const read = new DOMParser().parseFromString(xhr.responseText, "text/html");
      const failure = read.querySelector("[data-failure]");
      if (failure) return failure.textContent.trim().replace(/\s+/g, " ");
      if (read.querySelector("form")) return null;
    } catch {
      // said below
    }
    return `This did not work (${xhr.status}). Try again, or load the page anew.`;
  }

  // A lost connection: say so, look whether it is back, and repeat what only reads.
  const lost = one("[data-lost]");
  let missed = null;
  let timer = 0;

  function lose(event) {
    const config = event.detail.requestConfig;
    if (config.verb === "get") missed = config;
    one("[data-lost-words]").textContent =
      config.verb !== "get" ? "What you sent did not arrive; send it again once it is back." : "Nothing you typed is gone; trying again …";
    lost.hidden = false;
    clearTimeout(timer);
    timer = setTimeout(look, 2000);
  }

  async function look() {
    clearTimeout(timer);
    try {
      const answer = await fetch("/alive", { cache: "no-store", signal: AbortSignal.timeout(5000) });
      if (!answer.ok) throw new Error(String(answer.status));
    } catch {
      lost.hidden = false;
      timer = setTimeout(look, 2000);
      return;
    }
    if (lost.hidden) return;
    lost.hidden = true;
    toast("The connection is back.");
    const again = missed;
    missed = null;
    if (again?.elt?.isConnected) window.htmx.ajax("GET", again.path, { source: again.elt, values: again.parameters });
  }

  document.addEventListener("htmx:sendError", lose);
  document.addEventListener("htmx:timeout", lose);
  window.addEventListener("offline", look); // a studio on this machine is there without a network, too
  window.addEventListener("online", look);
  one("[data-retry]")?.addEventListener("click", look);

  // How far an upload is.
  document.addEventListener("htmx:xhr:progress", (event) => {
    const bar = event.target.querySelector?.("progress[data-sent]");
    if (!bar || !event.detail.lengthComputable) return;
    bar.hidden = false;
    bar.max = event.detail.total;
    bar.value = event.detail.loaded;
  });

  document.addEventListener("htmx:afterSwap", (event) => announce(event.target));
  announce(document);
  one(".places [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }); // where there are many places
  document.documentElement.dataset.ready = "yes";
})();
