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
  // One after another, so that the page can be read meanwhile.
  const todo = plots();
  const next = () => {
    const plot = todo.shift();
    if (!plot) return;
    if (!plot.figure) draw(plot, read(plot));
    setTimeout(next, 0);
  };
  next();

  const again = (all) => all.forEach((plot) => draw(plot, read(plot)));
  dark.addEventListener("change", () => again(drawn()));
  addEventListener("beforeprint", () => { printing = true; again(plots()); });
  addEventListener("afterprint", () => { printing = false; again(plots()); });
  return { draw };
})();
