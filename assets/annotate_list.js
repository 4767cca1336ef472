/* The documents of this workspace: search, state, what is left, mean confidence; import, and deletion. */

const STATE_NAMES = { new: "New", "in review": "In review", done: "Done" };
const LISTED = 200; /* rows that are drawn; a search finds the rest */

ICONS.trash = "M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5M6.8 7v3.6M9.2 7v3.6";

function buildListCard(importing) {
  let wanted = "";
  let state = "";
  let opening = null;
  let asked = null; /* id whose deletion waits for a second press */
  const search = h("input", {
    class: "ts-input",
    type: "search",
    "aria-label": "Search recordings",
    oninput: () => ((wanted = search.value), show()),
  });
  const rows = h("div", { class: "ts-recordings", role: "list" });
  const foot = h("div", { class: "ts-row ts-wrap ts-state-filter", role: "group", "aria-label": "Show only" });
  const kept = h("p", { class: "ts-hint" });
  const actions = h("div", { class: "ts-row ts-annotate-listbar" });
  const head = h("header", {}, h("h2", { class: "ts-grow" }, "Recordings"), importing.open);
  const node = h(
    "section",
    { class: "ts-card ts-annotate-list" },
    head,
    h("div", { class: "ts-body" }, search, rows, foot, kept, actions),
  );

  function show() {
    const { entries } = desk;
    search.placeholder = `Search ${amount(entries.length)} recording${entries.length === 1 ? "" : "s"}`;
    const text = wanted.trim().toLowerCase();
    const found = entries.filter((one) => (!state || one.state === state) && one.name.toLowerCase().includes(text));
    rows.replaceChildren(...found.slice(0, LISTED).map(row));
    if (!found.length)
      rows.append(h("p", { class: "ts-annotate-none" }, entries.length ? "Nothing fits." : "No recordings yet."));
    if (found.length > LISTED)
      rows.append(h("p", { class: "ts-hint" }, `and ${amount(found.length - LISTED)} more; search for them`));
    const count = (which) => amount(entries.filter((one) => one.state === which).length);
    foot.replaceChildren(
      ...(entries.length ? ["done", "in review", "new"] : []).map((one) =>
        h(
          "button",
          {
            class: "ts-link",
            type: "button",
            "aria-pressed": String(one === state),
            onclick: () => ((state = one === state ? "" : one), show()),
          },
          `${count(one)} ${one}`,
        ),
      ),
    );
    kept.textContent = desk.kept;
  }

  function row(one) {
    const isOpen = one.id === desk.head?.id;
    const count = one.state === "done" ? 0 : countToCheck(one);
    const title = `${amount(count)} to check below ${page.threshold.toFixed(2)}`;
    const left = count ? h("span", { class: "ts-left", title }, h("i"), amount(count)) : null;
    const open = h(
      "button",
      { class: "ts-recording", type: "button", "aria-current": isOpen ? "true" : false, onclick: () => onOpen(one.id) },
      h("span", { class: "ts-state", "data-state": one.state, role: "img", "aria-label": STATE_NAMES[one.state] }),
      h("span", { class: "ts-grow ts-ellipsis", title: one.name }, h("bdi", {}, one.name)),
      opening === one.id ? h("span", { class: "ts-hint ts-nowrap" }, "Opening…") : left,
      h("span", { class: "ts-mono" }, one.confidence === null ? "–" : one.confidence.toFixed(2)),
    );
    const remove =
      asked === one.id
        ? h(
            "button",
            {
              class: "ts-btn ts-danger",
              type: "button",
              onclick: () => onDelete(one.id),
              onblur: () => ((asked = null), show()),
            },
            "Delete for good",
          )
        : h(
            "button",
            {
              class: "ts-btn ts-quiet ts-iconic ts-remove",
              type: "button",
              "aria-label": `Delete ${one.name}`,
              title: "Delete",
              onclick: () => ask_(one.id),
            },
            icon("trash"),
          );
    return h(
      "div",
      { class: isOpen ? "ts-recording-row ts-open" : "ts-recording-row", role: "listitem", "data-id": one.id },
      open,
      remove,
    );
  }

  function ask_(id) {
    asked = id;
    show();
    rows.querySelector(".ts-danger")?.focus();
  }

  async function onOpen(id) {
    if (id !== desk.head?.id && !(await openDocument(id))) return;
    desk.view.focus();
  }

  async function onDelete(id) {
    asked = null;
    const answer = await ask("annotate_delete", id);
    if (answer.error) return tell("error", answer.error);
    if (id === desk.head?.id) closeDocument();
    takeList(answer);
    return undefined;
  }

  for (const signal of ["desk:list", "threshold"]) on(signal, show);
  on("desk:document", () => ((opening = null), show()));
  on("desk:opening", (id) => ((opening = id), show()));
  show();
  return { node, head, actions };
}
