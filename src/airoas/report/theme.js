// Light or dark: the system's choice until the reader makes one.
"use strict";
const theme = {
  system: window.matchMedia("(prefers-color-scheme: dark)"),
  chosen: null,
  get name() { return this.chosen || (this.system.matches ? "dark" : "light"); },
  listeners: [],
  apply() {
    document.documentElement.dataset.theme = this.name;
    this.listeners.forEach((listener) => listener());
  },
};
theme.system.addEventListener("change", () => theme.apply());
document.getElementById("theme").addEventListener("click", () => {
  theme.chosen = theme.name === "dark" ? "light" : "dark";
  theme.apply();
});
theme.apply();
