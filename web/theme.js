// SPDX-License-Identifier: Apache-2.0
// The chosen theme, before anything is painted. A script of its own because of that.
'use strict';
{
  const chosen = localStorage.getItem('pawl-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
}
