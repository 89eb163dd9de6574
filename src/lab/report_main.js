// SPDX-License-Identifier: Apache-2.0
// Draws each result of the page: a section with its verdict, figures, plots, tables and conditions.
const kinds = {sweep: ['Sweep', sweep], compare: ['Comparison', compare], predict: ['Prediction', predict], score: ['Score of the predictions', score],
  load: ['Load', load], cancel: ['Cancellation', cancel], schema: ['What the fields cost', schema], trace: ['Trace', trace], logits: ['Logits', logits],
  diverge: ['Divergence', diverge], phases: ['Prefill and decode', phases], tour: ['Tour', tour]};
for (const input of inputs) {
  const section = element(document.getElementById('page'), 'section', 'result');
  const [title, render] = kinds[input.document.kind] || ['Result', null];
  const isAlone = inputs.length === 1 && input.document.kind === 'tour';
  if (isAlone) {
    document.title = document.querySelector('h1').textContent = 'pawl tour';
  } else {
    element(section, 'h2', '', title);
    element(section, 'p', 'soft', input.name);
  }
  if (render) render(section, input); else element(card(section, 'As it stands in the file'), 'pre', '', JSON.stringify(input.document, null, 1).slice(0, 100000));
  if (!['predict', 'tour'].includes(input.document.kind)) conditions(section, input.document.conditions);
}
const wantsDark = matchMedia('(prefers-color-scheme: dark)');
function setTheme(dark) { root.dataset.theme = dark ? 'dark' : 'light'; draw(); }
setTheme(wantsDark.matches);
wantsDark.addEventListener('change', event => setTheme(event.matches));
document.getElementById('theme').addEventListener('click', () => setTheme(root.dataset.theme !== 'dark'));
