/* What is done with several documents: the quality report, and one archive of all that are done. */

function buildListActions(place) {
  const report = h("button", { class: "ts-btn", type: "button", onclick: () => showReport(null) }, "Quality report");
  const done = h("button", { class: "ts-btn", type: "button", onclick: onExport }, "Export done (.zip)");
  async function onExport() {
    if (!(await saver.flushed())) return tell("error", "The last edit is not saved yet. Export again in a moment.");
    const answer = await ask("annotate_export_done");
    if (answer.error) return tell("info", answer.error);
    return follow(answer.job, "export");
  }
  place.append(report, done);
}

/* How good the machine was, from what people made of it; the chart comes from Python after the event "report". */

async function showReport(id) {
  const answer = await ask("annotate_report", id);
  if (answer.error) return tell("error", answer.error);
  emit("desk:report", answer);
  document.body.dataset.annotateReport = "open";
  desk.trigger("report", { key: desk.workspace, id, dark: theme.dark });
  document
    .querySelector("#ts-annotate-report")
    ?.scrollIntoView({ behavior: isStill() ? "auto" : "smooth", block: "nearest" });
  return undefined;
}

parts.annotate_report = ({ root }) => {
  let shown = null;
  const title = h("span", { class: "ts-dim" });
  const figures = h("div", { class: "ts-report-figures" });
  const close = () => delete document.body.dataset.annotateReport;
  const which = h("div", { class: "ts-segments" });
  root.append(
    h(
      "section",
      { class: "ts-report-head" },
      h(
        "header",
        { class: "ts-row" },
        h("h2", {}, "Quality report"),
        title,
        h("span", { class: "ts-grow" }),
        which,
        button("Close", "cross", close, "ts-quiet"),
      ),
      figures,
    ),
  );

  const share = (value, digits = 1) => (value === null ? "–" : `${(100 * value).toFixed(digits)} %`);
  const milli = (value) => (value === null ? "–" : `${Math.round(1000 * value)} ms`);
  const figure = (value, name) =>
    h("div", {}, h("div", { class: "ts-compare-figure" }, value), h("div", { class: "ts-hint" }, name));

  function show(answer) {
    shown = answer;
    const q = answer.quality;
    title.textContent = answer.id
      ? ""
      : `${amount(answer.documents)} document${answer.documents === 1 ? "" : "s"} in review or done`;
    if (answer.id) title.replaceChildren(h("bdi", {}, answer.name));
    const choice = (id, name) =>
      h(
        "button",
        { class: "ts-btn", type: "button", "aria-pressed": String(answer.id === id), onclick: () => showReport(id) },
        name,
      );
    which.replaceChildren(choice(null, "All"), ...(desk.head ? [choice(desk.head.id, "This one")] : []));
    if (!q) {
      figures.replaceChildren(
        h("p", { class: "ts-hint" }, "Nothing was reviewed yet, so there is nothing to measure."),
      );
      return;
    }
    figures.replaceChildren(
      figure(
        share(q.word_error_rate),
        `word error rate of the machine, ${amount(q.words_changed)} of ${amount(q.words)} words`,
      ),
      figure(
        amount(q.edits),
        q.edits_per_minute === null ? "edits" : `edits, ${q.edits_per_minute.toFixed(1)} a minute`,
      ),
      figure(milli(q.boundary_mean), `mean boundary difference, ${share(q.within_50ms, 0)} within 50 ms`),
      figure(q.ece === null ? "–" : q.ece.toFixed(3), "calibration error (ECE) of confidence"),
      figure(
        q.threshold === null ? "–" : q.threshold.toFixed(2),
        q.threshold === null
          ? "no wrong word was found"
          : `threshold worth reviewing: 9 of 10 wrong words lie below, ${share(q.share_below, 0)} of all`,
      ),
    );
  }
  on("desk:report", show);
  on(
    "theme",
    () =>
      shown &&
      document.body.dataset.annotateReport &&
      desk.trigger("report", { key: desk.workspace, id: shown.id, dark: theme.dark }),
  );
};
