/* What is left to check: words below the threshold that nobody has accepted, those that come first. */

const QUEUED = 40; /* rows that are drawn; the rest follows as these go */

function buildQueueCard() {
  const count = h("span", { class: "ts-dim", role: "status" });
  const below = h("span", { class: "ts-hint" });
  const bar = h("i");
  const rows = h("div", { class: "ts-queue", role: "list" });
  const accepted = h("span", { class: "ts-hint ts-grow" });
  const next = h(
    "button",
    { class: "ts-btn ts-quiet", type: "button", onclick: () => (goToUnsure(1), desk.view.focus()) },
    "Next ",
    keyHint("next"),
  );
  const node = h(
    "section",
    { class: "ts-card ts-annotate-queue" },
    h("header", {}, h("h2", {}, "To check"), count, h("span", { class: "ts-grow" }), below),
    h("div", { class: "ts-bar-track" }, bar),
    rows,
    h("footer", { class: "ts-row" }, accepted, next),
  );

  function show() {
    const doc = desk.document;
    node.hidden = !doc;
    if (!doc) return;
    const { tier, left, done } = toCheck();
    const all = left.length + done.length;
    const limit = page.threshold.toFixed(2);
    count.textContent = all ? `${amount(left.length)} of ${amount(all)} left` : "";
    below.textContent = `below ${limit}`;
    bar.style.width = `${all ? (100 * done.length) / all : 100}%`;
    accepted.textContent = `${amount(done.length)} accepted`;
    next.disabled = !left.length;
    if (!left.length) {
      rows.replaceChildren(
        h(
          "p",
          { class: "ts-annotate-none" },
          tier?.length ? `Nothing below ${limit}. Well done.` : "There are no words to check.",
        ),
      );
      return;
    }
    const current = tier.key === "words" ? selectedWord() : (selected()?.index ?? -1);
    /* The rows around the one that is selected, so that it is in sight however long the queue is. */
    const at = Math.max(
      0,
      left.findIndex((i) => i >= current),
    );
    const first = clamp(at - 5, 0, Math.max(0, left.length - QUEUED));
    rows.replaceChildren(...left.slice(first, first + QUEUED).map((i) => row(tier, i, i === current)));
    scrollInside(rows, rows.querySelector(".ts-current-row"));
  }

  function row(tier, i, isCurrent) {
    const context = [i + 1, i + 2].filter((j) => j < tier.length).map((j) => tier.text[j]);
    const badge = h("span", { class: "ts-unsure" }, h("i"), tier.sure[i].toFixed(2));
    badge.style.background = confidenceColour(tier.sure[i]);
    const go = () => {
      desk.view.choose(tier, i, { center: true });
      desk.view.focus();
    };
    const head = h(
      "button",
      { class: "ts-queue-word", type: "button", onclick: go },
      h(
        "span",
        { class: "ts-ellipsis" },
        h("bdi", { class: isCurrent ? "ts-strong" : "" }, tier.text[i]),
        " ",
        h("bdi", { class: "ts-dim" }, context.join(" ")),
      ),
      badge,
    );
    if (!isCurrent) return h("div", { class: "ts-queue-row", role: "listitem" }, head);
    const start = tier.start[i];
    return h(
      "div",
      { class: "ts-queue-row ts-current-row", role: "listitem" },
      head,
      h(
        "div",
        { class: "ts-row" },
        h("span", { class: "ts-mono ts-dim ts-grow" }, start >= 60 ? clock(start) : seconds(start)),
        h("button", { class: "ts-btn", type: "button", onclick: () => emit("desk:edit") }, "Edit ", keyHint("edit")),
        h(
          "button",
          { class: "ts-btn ts-primary", type: "button", onclick: () => (acceptSelection(), desk.view.focus()) },
          "Accept ",
          keyHint("accept"),
        ),
      ),
    );
  }

  for (const signal of ["desk:document", "desk:change", "desk:selection", "threshold", "theme"]) on(signal, show);
  show();
  return node;
}
