/* The controls of one decoder, drawn from the table that components/decoder_settings.py sends.

   Props from Python: form [{name, label, group, kind, options, least, most, step, empty, when, hint, default}],
   groups [[key, title]], notes {strategy: text}, limit (MB of a language model), heads (of the model; [] = not known),
   languages (codes that a Whisper model can be told; [] = not known, or no such model).
   Value, read by Python and written only here: {name: value of that setting}; lm is {id, name} or null.
   Server functions: take_language_model([path, name]) answers {id, name} or {error}
                     check_phrases(text) answers {count} or {error}
   Signal: "decoder" {element, name}: a person has changed that setting. */

/* Whether a setting has a meaning beside the others; as _applies in components/decoder_settings.py. */
function applies({ when }, chosen) {
  return Object.entries(when).every(([name, accepted]) =>
    accepted.length ? accepted.includes(chosen[name]) : Boolean(chosen[name]),
  );
}

let decoderColumns = 0;

parts.decoder = ({ root, props, server, upload, watch }) => {
  const form = props.form;
  const namesOf = (setting) => Object.fromEntries(form.find((one) => one.name === setting).options);
  const [strategyNames, headNames] = [namesOf("strategy"), namesOf("head")];
  const chosen = { ...Object.fromEntries(form.map((one) => [one.name, one.default])), ...props.value };
  const fields = new Map(); /* name -> {node, show()} */
  const folds = new Map(); /* group -> {node, state} */
  const column = `ts-decoder-${++decoderColumns}`; /* ids must differ where a page has several */
  const about = { phrases: 0 }; /* phrases in the text, once Python has counted them */

  function choose(name, value) {
    chosen[name] = value;
    props.value = { ...chosen };
    refresh();
    emit("decoder", { element: root, name });
  }

  /* Every kind of control: what it looks like, and how it shows the chosen value. */
  const KINDS = {
    choice(one) {
      const select = h("select", { class: "ts-select", onchange: () => choose(one.name, select.value) });
      const options = one.options.map(([value, name]) => h("option", { value }, name));
      select.append(...options);
      return { node: labelled(one, select), input: select, show: () => (select.value = chosen[one.name] ?? "") };
    },
    number(one) {
      const input = h("input", {
        class: "ts-input ts-mono",
        type: "number",
        inputmode: one.kind === "whole" ? "numeric" : "decimal",
        min: one.least,
        max: one.most,
        step: one.step,
        placeholder: one.empty,
        oninput: () => choose(one.name, input.value === "" ? null : Number(input.value)),
      });
      const limits = h("span", { class: "ts-hint ts-problem" });
      const node = labelled(one, input, limits);
      function show() {
        if (document.activeElement !== input) input.value = chosen[one.name] ?? "";
        const { rangeUnderflow, rangeOverflow, badInput } = input.validity;
        const fraction = one.kind === "whole" && !Number.isInteger(chosen[one.name] ?? 0);
        const empty = input.value === "" && !one.empty;
        const wrong = rangeUnderflow || rangeOverflow || badInput || fraction || empty;
        input.setAttribute("aria-invalid", String(wrong));
        limits.textContent = wrong ? `${one.least} to ${one.most}` : "";
      }
      return { node, input, show };
    },
    switch(one) {
      const input = h("input", { type: "checkbox", onchange: () => choose(one.name, input.checked) });
      const node = h("label", { class: "ts-field-switch" }, input, h("span", {}, one.label));
      return { node, input, show: () => (input.checked = chosen[one.name]) };
    },
    lines: phraseBox,
    file: languageModel,
  };
  KINDS.whole = KINDS.number;

  function labelled(one, control, ...below) {
    control.id = `${column}-${one.name}`;
    return h(
      "div",
      { class: `ts-setting ts-setting-${one.kind}`, "data-setting": one.name },
      h("label", { class: "ts-label", for: control.id }, one.label),
      control,
      ...below,
    );
  }

  function phraseBox(one) {
    const area = h("textarea", {
      class: "ts-input ts-lines",
      rows: 4,
      spellcheck: "false",
      placeholder: "Mr. Okafor\nMarch twentieth: 2.5",
    });
    const said = h("span", { class: "ts-hint", "aria-live": "polite" }, one.hint);
    let timer = 0;
    let checked = "";
    async function check() {
      const text = (checked = area.value);
      const { count = 0, error } = await server
        .check_phrases(text)
        .catch(() => ({ error: "The server does not answer. Try again in a moment." }));
      if (text !== area.value) return;
      about.phrases = error ? null : count;
      said.textContent = error ?? one.hint;
      said.classList.toggle("ts-problem", Boolean(error));
      area.setAttribute("aria-invalid", String(Boolean(error)));
      refresh();
    }
    function take() {
      clearTimeout(timer);
      if (area.value !== chosen[one.name]) choose(one.name, area.value);
      if (area.value !== checked) check();
    }
    /* A keystroke must not send a long list through the page; leaving the field does so at once. */
    area.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(take, 400);
      if (area.value.length < 2000) choose(one.name, area.value);
    });
    area.addEventListener("change", take);
    function show() {
      if (document.activeElement === area || area.value === chosen[one.name]) return;
      area.value = chosen[one.name];
      check();
    }
    return { node: labelled(one, area, said), input: area, show };
  }

  function languageModel(one) {
    const input = h("input", {
      type: "file",
      accept: ".arpa,.lm,.txt",
      class: "ts-offscreen",
      tabindex: -1,
      "aria-label": one.label,
      "data-file": one.name,
    });
    const pick = h(
      "button",
      { class: "ts-btn", type: "button", onclick: () => input.click() },
      icon("file"),
      "Choose an ARPA file",
    );
    const name = h("bdi", { class: "ts-grow ts-ellipsis" });
    const remove = h(
      "button",
      { class: "ts-btn ts-quiet ts-iconic", type: "button", "aria-label": "Remove the language model" },
      icon("cross"),
    );
    const row = h("div", { class: "ts-row ts-file" }, name, remove);
    const hint = "N-grams over this model’s tokens. python -m asr_core.lm makes them from text.";
    const said = h("span", { class: "ts-hint", "aria-live": "polite" }, hint);

    function say(text, isProblem = false) {
      said.textContent = text;
      said.classList.toggle("ts-problem", isProblem);
    }
    async function take(file) {
      input.value = "";
      if (!file) return;
      if (file.size > props.limit * 1e6)
        return say(`${file.name} has ${Math.ceil(file.size / 1e6)} MB; up to ${props.limit} MB are taken here.`, true);
      pick.disabled = true;
      say(`Reading ${file.name}…`);
      try {
        const { path } = await upload(file);
        const { id, name, error } = await server.take_language_model([path, file.name]);
        say(error ?? hint, Boolean(error));
        if (!error) choose(one.name, { id, name });
      } catch (error) {
        say(`${file.name} could not be sent: ${error?.message ?? error}`, true);
      }
      pick.disabled = false;
    }
    input.addEventListener("change", () => take(input.files[0]));
    remove.addEventListener("click", () => {
      say(hint);
      choose(one.name, null);
      pick.focus();
    });
    function show() {
      const { name: called = "" } = chosen[one.name] ?? {};
      row.hidden = !called;
      pick.hidden = Boolean(called);
      name.textContent = called;
      name.title = called;
      said.hidden = Boolean(called) && !said.classList.contains("ts-problem");
    }
    return { node: h("div", { class: "ts-setting ts-setting-file" }, pick, row, said, input), input: pick, show };
  }

  /* What a closed part of the form says about itself. */
  function stateOf(group) {
    if (group === "lm") return chosen.lm ? chosen.lm.name : "none";
    if (group === "phrases") {
      if (!chosen.phrases.trim()) return "none";
      return about.phrases === null ? "look here" : String(about.phrases || "");
    }
    const changed = form.filter(
      (one) => one.group === group && applies(one, chosen) && chosen[one.name] !== one.default,
    ).length;
    return changed ? `${changed} changed` : "as usual";
  }

  function refresh() {
    for (const one of form) {
      const field = fields.get(one.name);
      field.node.hidden = !applies(one, chosen) || !isOffered(one.name);
      field.show();
    }
    const heads = props.heads ?? [];
    for (const option of fields.get("strategy").input.options) {
      option.disabled = option.value === "maes" && heads.length > 0 && !heads.includes("rnnt");
      const reason = option.disabled ? " (needs an RNN-T head)" : "";
      option.textContent = `${strategyNames[option.value]}${reason}`;
    }
    for (const option of fields.get("language").input.options)
      option.hidden = option.disabled = Boolean(option.value) && !languages().includes(option.value);
    const head = fields.get("head");
    for (const option of head.input.options) option.hidden = option.disabled = !heads.includes(option.value);
    head.note.textContent = headNote(heads);
    fields.get("strategy").note.textContent = props.notes[chosen.strategy] ?? "";
    for (const [group, { node, state }] of folds) {
      node.hidden = !form.some((one) => one.group === group && applies(one, chosen));
      state.textContent = stateOf(group);
    }
  }

  const languages = () => props.languages ?? [];

  /* A model of one language need not be told which it is, and has nothing to translate. */
  function isOffered(name) {
    return !["language", "task"].includes(name) || languages().length > 1;
  }

  function headNote(heads) {
    if (!heads.length) return "";
    if (heads[0] === "whisper") return "Whisper has no heads: its decoder writes the text, so CTC and fusion do not apply.";
    if (heads.length === 1) return "The only head of this model.";
    const others = heads.filter((one) => one !== chosen.head).map((one) => headNames[one]);
    return `This model also has ${others.join(" and ")}.`;
  }

  /* Another model: a head or strategy that it lacks gives way to what it has. */
  function onHeads() {
    const heads = props.heads ?? [];
    Object.assign(chosen, props.value); /* a preset sets both, and this may come first */
    if (heads.length) {
      if (!heads.includes(chosen.head)) chosen.head = heads[0];
      if (chosen.strategy === "maes" && !heads.includes("rnnt")) chosen.strategy = "beam";
    }
    props.value = { ...chosen };
    refresh();
  }

  function onLanguages() {
    Object.assign(chosen, props.value);
    const known = languages();
    if (chosen.language && !known.includes(chosen.language)) chosen.language = "";
    if (known.length < 2) chosen.task = "transcribe";
    props.value = { ...chosen };
    refresh();
  }

  /* Python has set other values: a preset of the Compare tab. */
  function onValue() {
    if (!props.value || JSON.stringify({ ...chosen, ...props.value }) === JSON.stringify(chosen)) return;
    Object.assign(chosen, props.value);
    onHeads();
  }

  for (const [group, title] of props.groups) {
    const box = h("div", { class: "ts-fields" });
    for (const one of form.filter((each) => each.group === group)) {
      const field = KINDS[one.kind](one);
      if (one.name === "strategy" || one.name === "head") {
        field.note = h("span", { class: "ts-hint" });
        field.node.append(field.note);
      }
      fields.set(one.name, field);
      box.append(field.node);
    }
    if (!title) {
      root.append(box);
      continue;
    }
    const state = h("span", { class: "ts-dim ts-ellipsis" });
    const node = h(
      "details",
      { class: "ts-fold", "data-group": group },
      h("summary", {}, icon("down"), h("span", { class: "ts-nowrap" }, title), state),
      box,
    );
    folds.set(group, { node, state });
  }
  root.append(h("div", { class: "ts-folds" }, ...[...folds.values()].map(({ node }) => node)));
  watch("heads", onHeads);
  watch("languages", onLanguages);
  watch("value", onValue);
  onHeads();
};
