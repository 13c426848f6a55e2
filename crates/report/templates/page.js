"use strict";
const offered = (() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const still = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d"] };
  let printing = false;

  // The page's own colours; on paper those of a light page.
  const colours = () => (dark.matches && !printing
    ? { ink: "#e4e8ee", grid: "#2b323c", paper: "#12161c" }
    : { ink: "#1c2430", grid: "#e2e6eb", paper: "#ffffff" });

  const dressed = (layout) => {
    const { ink, grid, paper } = colours();
    const axis = (own) => ({ ...own, gridcolor: grid, linecolor: grid, title: { ...own.title, standoff: 8 } });
    return {
      ...layout, font: { color: ink, size: 12 }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis), hoverlabel: { bgcolor: paper, font: { color: ink } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: grid, activecolor: ink }, bargap: 0.05,
    };
  };

  const draw = (plot, figure) => {
    plot.figure = figure;
    const layout = dressed(figure.layout);
    if (printing) Object.assign(layout, { autosize: false, width: 680, height: 230 });
    Plotly.react(plot, figure.data, layout, still);
  };
  const read = (plot) => plot.figure ?? JSON.parse(document.getElementById(plot.dataset.from).textContent);

  const plots = () => [...document.querySelectorAll(".plot[data-from]")];
  const drawn = () => plots().filter((plot) => plot.figure);
  // A chart in a folded section has no width: it is drawn when the section is opened.
  const visible = () => plots().filter((plot) => !plot.closest("details:not([open])"));
  // One after another, so that the page can be read meanwhile.
  let busy = false;
  const next = () => {
    const plot = visible().find((plot) => !plot.figure);
    busy = plot !== undefined;
    if (!busy) return;
    draw(plot, read(plot));
    setTimeout(next, 0);
  };
  next();
  document.addEventListener("toggle", () => { if (!busy) next(); }, true);

  // Opens the section that a link names, and those around it.
  const open = (hash) => {
    const target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
    if (!target) return;
    for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    target.scrollIntoView();
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link) open(link.hash);
  });
  open(location.hash);
  const button = document.getElementById("unfold");
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => document.querySelectorAll("details").forEach((fold) => { fold.open = true; }));
  }

  const again = (all) => all.forEach((plot) => draw(plot, read(plot)));
  dark.addEventListener("change", () => again(drawn()));
  addEventListener("beforeprint", () => { printing = true; again(visible()); });
  addEventListener("afterprint", () => { printing = false; again(visible()); });
  return { draw };
})();
