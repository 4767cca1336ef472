/* The tab "Annotate": the row with the document's name and what can be done with it, the view, and three columns. */

ICONS.undo = "M6 3 2.8 6.2 6 9.4M3 6.2h6.2a3.8 3.8 0 0 1 0 7.6H6";
ICONS.redo = "m10 3 3.2 3.2L10 9.4M13 6.2H6.8a3.8 3.8 0 0 0 0 7.6H10";
ICONS.find = "M7 2.8a4.2 4.2 0 1 1 0 8.4 4.2 4.2 0 0 1 0-8.4m3.1 7.3 3.4 3.4";
ICONS.left = "m10 3-5 5 5 5";
ICONS.right = "m6 3 5 5-5 5";

parts.annotate = ({ root, element, props, server, trigger, upload, watch }) => {
  Object.assign(desk, { server, trigger, upload, workspace: workspaceKey() });
  loadKeys();
  const view = buildAnnotateView(element);
  desk.view = view;
  const keys = buildKeysOverlay();
  const importing = buildImport();
  const list = buildListCard(importing);
  const text = buildTextCard();
  const messages = h("div", { class: "ts-annotate-messages" });
  const empty = buildEmpty();
  const middle = h("div", { class: "ts-annotate-middle" }, buildFindCard(), text.node, keys.node, buildDetailsCard());
  buildEditButtons(view.toolbar);
  const columns = h(
    "div",
    { class: "ts-annotate-columns" },
    list.node,
    middle,
    h("div", { class: "ts-annotate-side" }, buildQueueCard()),
  );
  const bar = buildDocumentBar(list.actions);
  root.append(bar, messages, view.frame, empty, columns, view.speech);

  /* How jobs go, and what is said: above the view, where it does not move what is being worked on far. */
  showJobs(messages);
  let said = null;

  function showMessage(message) {
    said?.remove();
    said = message && messageCard(message);
    if (said) messages.append(said);
  }

  function messageCard({ kind, text: words, actions }) {
    const buttons = actions.map(([name, act]) =>
      h("button", { class: "ts-btn", type: "button", onclick: () => (tell(null, ""), act(), view.focus()) }, name),
    );
    return h(
      "div",
      { class: `ts-message ts-${kind}`, role: kind === "info" ? "status" : "alert" },
      icon(kind === "info" ? "info" : "warn"),
      h("span", { class: "ts-grow" }, words),
      ...buttons,
      button("Close", "cross", () => (tell(null, ""), view.focus()), "ts-quiet"),
    );
  }

  on("desk:message", showMessage);

  /* Without a document: where one comes from. */
  function buildEmpty() {
    return h(
      "section",
      { class: "ts-card ts-annotate-empty" },
      h("div", { class: "ts-title" }, "Put it right"),
      h("p", { class: "ts-lead ts-empty-words" }, ""),
      h("div", { class: "ts-empty-act" }),
      h("p", { class: "ts-hint ts-empty-kept" }),
    );
  }

  function showEmpty() {
    const isEmpty = !desk.document;
    empty.hidden = !isEmpty;
    middle.hidden = isEmpty;
    columns.classList.toggle("ts-no-document", isEmpty);
    /* Without any recording there is one thing to do. */
    const isFirst = isEmpty && !desk.entries.length;
    const home = isFirst ? empty.querySelector(".ts-empty-act") : list.head;
    if (importing.open.parentNode !== home) home.append(importing.open);
    importing.open.firstChild.className = isFirst ? "ts-btn ts-primary ts-large" : "ts-btn";
    columns.hidden = isFirst;
    empty.querySelector(".ts-empty-kept").textContent = isFirst ? desk.kept : "";
    const words = desk.entries.length
      ? "Pick a recording of the list."
      : "No recordings yet. Import some, or send one over from Transcribe.";
    empty.querySelector(".ts-empty-words").textContent = words;
  }
  on("desk:document", showEmpty);
  on("desk:list", showEmpty);
  showEmpty();

  /* A segment is edited by a double click; keys act wherever the focus is in the tab. */
  view.overlay.addEventListener("dblclick", () => selected() && emit("desk:edit"));
  connectAnnotateKeys(root, () => Boolean(desk.document));
  element.addEventListener(
    "click",
    ({ target }) => target.closest(".ts-align") && !target.closest("button, input, select") && view.focus(),
  );

  /* What the page has: its model, and whether this is one person's own machine. */
  function adopt() {
    desk.model = props.value?.model ?? desk.model;
    desk.mode = props.value?.mode ?? desk.mode;
    emit("desk:model");
  }
  watch("value", adopt);
  adopt();
  window.addEventListener("tokenscope:annotate", () => {
    trigger("opened", {});
    look();
  });
  /* What was done elsewhere while this window was not looked at. */
  const look = () => Promise.all([refreshList(), findJobs()]);
  document.addEventListener("visibilitychange", () => !document.hidden && element.offsetParent && look());
  setInterval(() => lookForOthers(element), LOOK_EVERY_MS);
  trigger("opened", {});
  look().then(() => {
    const named = new URLSearchParams(location.hash.slice(1)).get("a");
    if (desk.wanted) takeWanted();
    else if (named) openDocument(named).then((isOpen) => isOpen && view.focus());
  });
};

/* Split, merge, snap and marks stand in the toolbar, with their keys. */
function buildEditButtons(toolbar) {
  const act = (name, action) =>
    h(
      "button",
      {
        class: "ts-btn ts-quiet ts-edit-button",
        type: "button",
        onclick: () => (ANNOTATE_KEYS[action][2](), desk.view.focus()),
      },
      name,
      " ",
      keyHint(action),
    );
  toolbar.rate.after(
    h("span", { class: "ts-sep ts-wide-only" }),
    act("Split", "split"),
    act("Merge", "merge"),
    h("span", { class: "ts-wide-only" }, act("Snap", "snap")),
    buildMarks(),
  );
}

/* Name and state of the document, what an undo would undo, whether everything is saved. */
function buildDocumentBar(listActions) {
  const name = h("h2", { class: "ts-name" });
  const state = h("span", { class: "ts-tag ts-annotate-state" });
  const saved = h("span", { class: "ts-saved", role: "status" });
  const undo = h("button", {
    class: "ts-btn ts-undo",
    type: "button",
    onclick: () => (step("undo"), desk.view.focus()),
  });
  const redo = h(
    "button",
    { class: "ts-btn ts-iconic ts-redo", type: "button", onclick: () => (step("redo"), desk.view.focus()) },
    icon("redo"),
  );
  const done = h("button", {
    class: "ts-btn ts-primary ts-done",
    type: "button",
    onclick: () => (ANNOTATE_KEYS.done[2](), desk.view.focus()),
  });
  const help = h(
    "button",
    {
      class: "ts-btn ts-iconic ts-help-button",
      type: "button",
      "aria-label": "Keys",
      "aria-pressed": "false",
      title: "Keys",
      onclick: () => emit("desk:keys"),
    },
    "?",
  );
  const before = button("Document before", "left", () => goToDocument(-1), "ts-before");
  const after = button("Next document", "right", () => goToDocument(1), "ts-after");
  const bar = h(
    "div",
    { class: "ts-source ts-annotate-bar" },
    h("div", { class: "ts-row ts-annotate-name" }, before, after, name, state, saved),
    h(
      "div",
      { class: "ts-source-buttons ts-wrap" },
      undo,
      redo,
      h("button", { class: "ts-btn", type: "button", onclick: () => emit("desk:find") }, icon("find"), "Find"),
      buildExport(),
      help,
      done,
    ),
  );

  function show() {
    const { head } = desk;
    bar.hidden = !head;
    if (!head) return;
    name.replaceChildren(h("bdi", {}, head.name));
    name.title = head.name;
    state.textContent = STATE_NAMES[head.state];
    state.dataset.state = head.state;
    undo.replaceChildren(icon("undo"), h("span", { class: "ts-ellipsis" }, head.undo ? `Undo ${head.undo}` : "Undo"));
    undo.disabled = !head.undo;
    undo.title = head.undo ? `Undo ${head.undo}` : "Nothing to undo";
    redo.disabled = !head.redo;
    redo.setAttribute("aria-label", head.redo ? `Redo ${head.redo}` : "Redo");
    redo.title = head.redo ? `Redo ${head.redo}` : "Nothing to redo";
    done.replaceChildren(icon("check"), head.state === "done" ? "Back to review" : "Mark as done");
    const at = desk.entries.findIndex(({ id }) => id === head.id);
    before.disabled = at <= 0;
    after.disabled = at < 0 || at + 1 >= desk.entries.length;
  }

  /* The truth: green only after the store has answered. */
  function showSaved() {
    const { state: now, at } = saver;
    const words = {
      saved: at ? `Saved ${at.toTimeString().slice(0, 8)}` : "Saved",
      saving: "Saving…",
      failed: "Not saved. Trying again",
    };
    saved.textContent = words[now];
    saved.dataset.saved = now;
  }

  for (const signal of ["desk:document", "desk:change", "desk:list"]) on(signal, show);
  on("desk:saving", showSaved);
  on("desk:keys-shown", (isShown) => help.setAttribute("aria-pressed", String(isShown)));
  buildListActions(listActions);
  show();
  showSaved();
  return bar;
}

/* A reload, or a link, comes back to the document that the address names: #a=... */
function openAddressed(tries = 100) {
  if (!new URLSearchParams(location.hash.slice(1)).get("a")) return;
  if ([...document.querySelectorAll('button[role="tab"]')].some((tab) => tab.textContent.trim() === "Annotate"))
    openTab("Annotate");
  else if (tries) setTimeout(() => openAddressed(tries - 1), 200);
}
openAddressed();
