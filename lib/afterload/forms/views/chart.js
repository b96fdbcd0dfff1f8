// One chart of a form. It is drawn once; later only its data change, the newest first.

const NO_BAND = { band: [] };

function charts() {
  if (globalThis.afterloadCharts) return Promise.resolve(globalThis.afterloadCharts);
  return new Promise((resolve) => {
    globalThis.addEventListener("afterload-charts", () => resolve(globalThis.afterloadCharts), { once: true });
  });
}

function render({ model, el }) {
  const canvas = document.createElement("div");
  canvas.className = "af-live-canvas";
  el.classList.add("af-live-chart");
  el.append(canvas);
  let view = null;
  let drawn = null;
  let held = {};
  let running = false;
  let again = false;
  let asked = false;
  let count = 0;
  let wide = 0;
  let gone = false;

  const width = () => Math.max(280, Math.floor(el.clientWidth || 640));

  // What follows at rest is drawn pale until it does.
  const mark = (spec) => {
    if (spec.params) view.signal("stale", model.get("is_stale"));
  };

  async function draw(api, spec, data) {
    wide = width();
    const whole = { ...structuredClone(spec), datasets: data, width: wide };
    if (view) view.finalize();
    const shown = await api.vegaEmbed(canvas, whole, { actions: false, renderer: "canvas", ast: true, mode: "vega-lite" });
    view = shown.view;
    drawn = JSON.stringify(spec);
    held = data;
    mark(spec);
    await view.runAsync();
  }

  async function change(spec, data) {
    for (const [name, rows] of Object.entries(data)) {
      if (rows !== held[name]) view.data(name, rows);
    }
    held = data;
    mark(spec);
    await view.runAsync();
  }

  // One change may be of several things at once.
  function ask() {
    if (asked) return;
    asked = true;
    queueMicrotask(() => {
      asked = false;
      follow();
    });
  }

  async function follow() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      do {
        again = false;
        const api = await charts();
        if (gone) return;
        const spec = model.get("spec");
        const data = { ...model.get("data"), ...(spec.params ? { ...NO_BAND, ...model.get("resting") } : {}) };
        const empty = Object.keys(spec).length === 0;
        canvas.style.display = empty ? "none" : "";
        if (!empty) {
          if (view && drawn === JSON.stringify(spec)) await change(spec, data);
          else await draw(api, spec, data);
        }
        el.dataset.band = spec.params ? (model.get("is_stale") ? "stale" : "current") : "none";
        el.dataset.drawn = String(++count);
      } while (again);
    } finally {
      running = false;
    }
  }

  function name() {
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", model.get("alt"));
  }

  const sized = new ResizeObserver(() => {
    if (view && el.clientWidth && Math.abs(width() - wide) > 1) {
      wide = width();
      view.width(wide).runAsync();
    }
  });
  sized.observe(el);
  const parts = ["change:spec", "change:data", "change:resting", "change:is_stale"];
  for (const part of parts) model.on(part, ask);
  model.on("change:alt", name);
  name();
  follow();
  return () => {
    gone = true;
    sized.disconnect();
    for (const part of parts) model.off(part, ask);
    model.off("change:alt", name);
    if (view) view.finalize();
  };
}

export default { render };
