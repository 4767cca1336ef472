/* The text of the sentence at the selection, to be changed by typing; and new times that wait for yes or no. */

function buildTextCard() {
  const field = h("textarea", {
    class: "ts-input ts-annotate-text",
    rows: 1,
    "aria-label": "Text",
    spellcheck: "false",
    dir: "auto",
  });
  const what = h("span", { class: "ts-dim" });
  const wait = h("p", { class: "ts-hint ts-annotate-wait", role: "status", hidden: true });
  const offer = h("div", { class: "ts-annotate-offer", hidden: true });
  let edited = null; /* {tier id, text}: what the field shows */
  const node = h(
    "section",
    { class: "ts-card ts-annotate-textcard" },
    h(
      "header",
      {},
      h("h2", {}, "Text"),
      what,
      h("span", { class: "ts-grow" }),
      h(
        "span",
        { class: "ts-hint ts-wide-only" },
        h("kbd", { class: "ts-kbd" }, "Enter"),
        " saves, ",
        h("kbd", { class: "ts-kbd" }, "Esc"),
        " leaves it",
      ),
    ),
    h("div", { class: "ts-body" }, field, wait, offer),
  );

  /* The sentence of the selected word; without sentences, and in other tiers, the segment itself. */
  function target() {
    const one = selected();
    if (!one || one.tier.kind === "speakers") return null;
    const isInside = ["tokens", "words", "sentences"].includes(one.tier.key);
    const at = isInside ? (one.tier.key === "sentences" ? one.index : sentenceOf(selectedWord())) : -1;
    const sentences = ownTier("sentences");
    if (isInside && at >= 0)
      return { tier: sentences, index: at, word: one.tier.key === "sentences" ? -1 : selectedWord() };
    return { tier: one.tier, index: one.index, word: -1 };
  }

  const isTyping = () => document.activeElement === field;
  const isChanged = () => edited && field.value !== edited.text;
  desk.typed = () => (isChanged() ? field.value : "");

  function show() {
    const there = desk.document && target();
    if (isTyping() && isChanged() && (!there || edited.id === there.tier.ids[there.index])) return;
    field.disabled = !there;
    if (!there) {
      edited = null;
      field.value = "";
      field.placeholder = desk.document ? "Select a word" : "";
      what.textContent = "";
      return fit();
    }
    const { tier, index } = there;
    edited = { tier, id: tier.ids[index], text: tier.text[index].trim() };
    field.value = edited.text;
    const start = tier.start[index];
    what.textContent = `${start >= 60 ? clock(start, 2) : `${start.toFixed(2)} s`}${tier.key === "sentences" ? "" : `, ${tier.name}`}`;
    fit();
  }

  function fit() {
    field.style.height = "auto";
    field.style.height = `${Math.max(46, field.scrollHeight + 2)}px`;
  }

  /* Into the field, with the selected word marked. */
  function edit() {
    show();
    const there = desk.document && target();
    if (!there) return desk.view.say("Select a word first");
    field.focus();
    const words = ownTier("words");
    if (there.word < 0 || !words) return field.select();
    const inside = [];
    for (let i = 0; i < words.length; i++) if (sentenceOf(i) === there.index) inside.push(i);
    let from = 0;
    for (const i of inside) {
      const at = field.value.indexOf(words.text[i], from);
      if (at < 0) return field.select();
      if (i === there.word) return field.setSelectionRange(at, at + words.text[i].length);
      from = at + words.text[i].length;
    }
    return field.select();
  }

  async function save() {
    if (!isChanged()) return leave();
    const { id } = edited;
    const text = field.value;
    const tier = desk.document?.tiers[edited.tier.key];
    const index = tier ? tier.ids.indexOf(id) : -1;
    edited.text = text.trim();
    desk.view.focus();
    if (index < 0) {
      show();
      return tell("warn", `What this belongs to was deleted meanwhile. What you wrote: ${text}`);
    }
    if (!text.trim()) return sendEdit({ op: "delete", id }, `deletion of “${labelOf(tier, index)}”`);
    if (!(await setText(tier, index, text))) show();
    return undefined;
  }

  function leave() {
    if (edited) field.value = edited.text;
    fit();
    desk.view.focus();
  }

  field.addEventListener("input", fit);
  field.addEventListener("blur", () => isChanged() && save());
  field.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    event.stopPropagation();
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      save();
    }
    if (event.key === "Escape") leave();
  });

  function showOffer() {
    const { proposal } = desk;
    offer.hidden = !proposal;
    if (!proposal) return;
    offer.replaceChildren(
      h("p", { class: "ts-grow" }, summaryOf(proposal)),
      h("button", { class: "ts-btn ts-keep-old", type: "button", onclick: leaveProposal }, "Keep old"),
      h("button", { class: "ts-btn ts-primary ts-use-new", type: "button", onclick: useProposal }, "Use new times"),
    );
  }

  on("desk:document", show);
  on("desk:change", show);
  on("desk:selection", show);
  on("desk:edit", edit);
  on("desk:proposal", showOffer);
  on("desk:work", (said) => {
    wait.hidden = !said;
    wait.textContent = said?.text ?? "";
  });
  new ResizeObserver(fit).observe(node);
  return { node, field };
}

/* "New times for 2 words. “twentieth,” would end 80 ms earlier.": what moves most is told. */
function summaryOf({ times, before, words }) {
  let most = { by: 0 };
  times.forEach(([id, start, end], i) => {
    const moves = [
      ["begin", start - before[i][1]],
      ["end", end - before[i][2]],
    ];
    for (const [verb, by] of moves) if (Math.abs(by) > Math.abs(most.by)) most = { id, verb, by };
  });
  const count = `New times for ${times.length} word${times.length === 1 ? "" : "s"}.`;
  if (!most.by) return [count];
  const figure = h("b", { class: "ts-mono" }, `${Math.round(1000 * Math.abs(most.by))} ms`);
  return [
    count,
    " ",
    h("bdi", {}, `“${words.get(most.id) ?? ""}”`),
    ` would ${most.verb} `,
    figure,
    most.by < 0 ? " earlier." : " later.",
  ];
}
