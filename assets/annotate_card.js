/* The card of what is under the pointer in the annotator's view, or selected by keyboard: its text, how sure, from when
   to when, who, and what the model gave for it. */

function buildAnnotateCard() {
  const title = h("span", { class: "ts-big" });
  const tag = h("span", { class: "ts-tag" });
  const list = h("dl");
  const node = h(
    "div",
    { class: "ts-pop ts-card-hover", hidden: true },
    h("div", { class: "ts-row ts-spread" }, title, tag),
    list,
  );
  const show = (key, index) => {
    const tier = desk.document.tiers[key];
    const sure = tier.sure[index];
    title.textContent = `“${labelOf(tier, index)}”`;
    tag.textContent = tier.accepted[index] ? "accepted" : "unsure";
    tag.className = `ts-tag ${tier.accepted[index] ? "ts-ok" : "ts-warn"}`;
    tag.hidden = !tier.accepted[index] && (sure === null || !isLow(sure));
    const rows = [
      ["Confidence", sure === null ? "none" : sure.toFixed(2)],
      ["Start", seconds(tier.start[index])],
      ["End", seconds(tier.end[index])],
      ["Length", `${Math.round(1000 * (tier.end[index] - tier.start[index]))} ms`],
    ];
    if (tier.speaker[index] && tier.kind !== "speakers") rows.push(["Speaker", tier.speaker[index]]);
    if (tier.log_prob[index] !== null) rows.push(["Log-prob", signed(tier.log_prob[index], 3)]);
    if (tier.id[index] !== null) rows.push(["Token id", String(tier.id[index])]);
    list.replaceChildren(...rows.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
    node.hidden = false;
  };
  return { node, show, hide: () => (node.hidden = true) };
}
