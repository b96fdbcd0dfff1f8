function load() {
  if (globalThis.afterloadCharts) return;
  const names = ["vega", "vegaLite", "vegaEmbed"];
  const before = names.map((name) => globalThis[name]);
  (function (define, exports, module, require) {
/* Vega stands here. */
  }).call(globalThis);
  globalThis.afterloadCharts = Object.fromEntries(names.map((name) => [name, globalThis[name]]));
  names.forEach((name, place) => { globalThis[name] = before[place]; });
  globalThis.dispatchEvent(new Event("afterload-charts"));
}

// The handles of sliders have no name for those who do not see the label beside them, and their value is a mere place.
function name() {
  for (const slider of document.querySelectorAll(".af-form .widget-slider")) {
    const handle = slider.querySelector("[role=slider]");
    const label = slider.querySelector(".widget-label")?.textContent ?? "";
    if (handle && handle.getAttribute("aria-label") !== label) handle.setAttribute("aria-label", label);
    handle?.setAttribute("aria-valuetext", label);
  }
  // Keys in the form are for the form: no shortcut of a notebook may take an arrow key, or delete a cell.
  const parts = ["button", "select", "[tabindex]", "[role=slider]"].map((part) => `.af-form ${part}`);
  for (const part of document.querySelectorAll(parts.join(", "))) {
    part.setAttribute("data-lm-suppress-shortcuts", "true");
  }
}

// While a handle is held, its scale must not change under the pointer.
function hold(model, is_held) {
  if (model.get("is_held") === is_held) return;
  model.set("is_held", is_held);
  model.save_changes();
}

function render({ model, el }) {
  load();
  let watch = null;
  const over = new AbortController();
  const begin = requestAnimationFrame(() => {
    const form = el.closest(".af-form");
    if (!form) return;
    watch = new MutationObserver(name);
    watch.observe(form, { childList: true, subtree: true });
    name();
    const first = { capture: true, signal: over.signal };
    form.addEventListener("pointerdown", (event) => {
      if (event.target.closest(".widget-slider")) hold(model, true);
    }, first);
    for (const end of ["pointerup", "pointercancel"]) {
      globalThis.addEventListener(end, () => hold(model, false), first);
    }
    // The window's own, not that of a part of it.
    globalThis.addEventListener("blur", (event) => {
      if (event.target === globalThis) hold(model, false);
    }, first);
  });
  return () => {
    cancelAnimationFrame(begin);
    watch?.disconnect();
    over.abort();
    hold(model, false);
  };
}
export default { initialize: load, render };
