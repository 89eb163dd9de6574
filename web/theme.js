// SPDX-License-Identifier: Apache-2.0
// The theme, before anything is painted: `data-theme` is what was chosen, if anything was, and
// `data-shade` what it comes to, light or dark. A script of its own because of that.
'use strict';
{
  const root = document.documentElement;
  const system = matchMedia('(prefers-color-scheme: dark)');
  const show = () => { root.dataset.shade = root.dataset.theme ?? (system.matches ? 'dark' : 'light'); };
  const chosen = localStorage.getItem('pawl-theme');
  if (chosen === 'light' || chosen === 'dark') root.dataset.theme = chosen;
  show();
  addEventListener('themechange', show);
  system.addEventListener('change', show);
}
