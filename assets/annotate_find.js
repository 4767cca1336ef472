/* Find and replace. The looking is done here, in the person's own browser, over the text as it stands; what is to be
   replaced goes to the store as the new texts of the segments, in one edit. */

const FOUND_SHOWN = 60;

function buildFindCard() {
  let found = [];
  let at = -1;
  const input = (name, placeholder) =>
    h("input", { class: "ts-input", type: "text", "aria-label": name, placeholder, dir: "auto", oninput: look });
  const box = (name) => h("input", { type: "checkbox", "aria-label": name, onchange: look });
  const what = input("Find", "Find");
  const instead = input("Replace with", "Replace with");
  const regex = box("Regular expression");
  const sameCase = box("Match case");
  const count = h("span", { class: "ts-hint", role: "status" });
  const list = h("div", { class: "ts-found", role: "list" });
  const replaceOne = h(
    "button",
    { class: "ts-btn", type: "button", onclick: () => replace(found.filter((_, i) => i === at)) },
    "Replace",
  );
  const replaceAll = h(
    "button",
    { class: "ts-btn ts-primary", type: "button", onclick: () => replace(found) },
    "Replace all",
  );
  const node = h(
    "section",
    { class: "ts-card ts-annotate-find", hidden: true },
    h(
      "header",
      {},
      h("h2", {}, "Find and replace"),
      count,
      h("span", { class: "ts-grow" }),
      button("Close", "cross", close, "ts-quiet"),
    ),
    h(
      "div",
      { class: "ts-body" },
      h("div", { class: "ts-find-fields" }, what, instead),
      h(
        "div",
        { class: "ts-row ts-wrap" },
        h("label", { class: "ts-choice" }, regex, "Regular expression"),
        h("label", { class: "ts-choice" }, sameCase, "Match case"),
        h("span", { class: "ts-grow" }),
        replaceOne,
        replaceAll,
      ),
      list,
    ),
  );

  function pattern() {
    const flags = `g${sameCase.checked ? "" : "i"}u`;
    return new RegExp(regex.checked ? what.value : what.value.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), flags);
  }

  function look() {
    found = [];
    const tier =
      desk.document &&
      (ownTier("sentences") ?? ownTier("words") ?? desk.document.order.find((one) => one.kind === "free"));
    const by = regex.checked ? instead.value : instead.value.replaceAll("$", "$$$$");
    let problem = "";
    if (tier && what.value) {
      try {
        const looked = pattern();
        for (let i = 0; i < tier.length; i++) {
          const text = tier.text[i];
          const hits = [...text.matchAll(looked)].filter((hit) => hit[0]);
          if (hits.length)
            found.push({
              tier,
              id: tier.ids[i],
              text,
              hits,
              after: text.replace(looked, by).split(/\s+/u).filter(Boolean).join(" "),
            });
        }
      } catch (error) {
        problem = `This is no regular expression: ${error.message.split(": ").at(-1)}`;
      }
    }
    at = found.length ? clamp(at, 0, found.length - 1) : -1;
    show(problem);
  }

  function show(problem = "") {
    const places = found.reduce((sum, { hits }) => sum + hits.length, 0);
    count.textContent = problem || (what.value ? `${amount(places)} place${places === 1 ? "" : "s"}` : "");
    count.classList.toggle("ts-problem", Boolean(problem));
    const changes = found.filter(({ text, after }) => text !== after).length;
    replaceOne.disabled = at < 0;
    replaceAll.disabled = !changes;
    const first = clamp(at - FOUND_SHOWN / 2, 0, Math.max(0, found.length - FOUND_SHOWN));
    list.replaceChildren(...found.slice(first, first + FOUND_SHOWN).map((one, n) => row(one, first + n)));
    list.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }

  /* Before with what was found marked, and after. */
  function row({ text, hits, after }, i) {
    const parts = [];
    let from = 0;
    for (const hit of hits) {
      parts.push(text.slice(from, hit.index), h("mark", {}, hit[0]));
      from = hit.index + hit[0].length;
    }
    parts.push(text.slice(from));
    const isShown = instead.value !== "" && after !== text;
    return h(
      "button",
      {
        class: "ts-found-row",
        type: "button",
        role: "listitem",
        "aria-current": i === at ? "true" : false,
        onclick: () => go(i),
      },
      h("bdi", {}, ...parts),
      isShown ? h("bdi", { class: "ts-found-after" }, after) : null,
    );
  }

  function go(i) {
    at = i;
    const { tier, id } = found[i];
    const index = tier.ids.indexOf(id);
    if (index >= 0) desk.view.choose(tier, index, { center: true });
    show();
  }

  async function replace(which) {
    const texts = which.filter(({ text, after }) => text !== after).map(({ id, after }) => [id, after]);
    if (!texts.length) return;
    const answer = await sendEdit({ op: "texts", texts, what: what.value }, `replacing “${what.value}”`);
    look();
    if (answer?.changed.length) proposeTimes(answer.changed);
  }

  function open() {
    node.hidden = false;
    what.focus();
    what.select();
    look();
  }

  function close() {
    node.hidden = true;
    desk.view.focus();
  }

  node.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (event.key === "Escape") close();
    if (event.key !== "Enter" || event.isComposing || !found.length) return;
    if (event.target === what)
      go(
        (at +
          (event.shiftKey
            ? found.length - 1
            : found[at] && document.activeElement === what && list.dataset.went
              ? 1
              : 0)) %
          found.length,
      );
    if (event.target === what) list.dataset.went = "yes";
    if (event.target === instead) replaceOne.click();
  });
  what.addEventListener("input", () => delete list.dataset.went);
  on("desk:find", open);
  on("desk:change", () => node.hidden || look());
  on("desk:document", () => (desk.document ? node.hidden || look() : (node.hidden = true)));
  return node;
}
