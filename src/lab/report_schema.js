// SPDX-License-Identifier: Apache-2.0
// A schema's bill, its variants, and what the lint finds.
function schema(section, input) {
  const r = input.document, bill = r.bill;
  for (const v of r.verdicts) banner(section, v.outcome === 'holds' ? 'good' : v.outcome === 'fails' ? 'bad' : 'warn', v.reason[0].toUpperCase() + v.reason.slice(1) + '.');
  const dropped = r.variants.find(v => v.kind === 'not asked'), stripped = r.variants.find(v => v.kind === 'stripped');
  figures(section, [[shown(bill.tokens), 'tokens of an answer'], [ms(bill.whole_ms.value), `of time (${shown(bill.start_ms.value)} ms before the first token)`]]
    .concat(dropped && dropped.saved_share ? [[percent(dropped.saved_share.value, 0), `of the time saved by not asking for ${dropped.left_out.join(', ')}`]] : [])
    .concat(stripped && stripped.saved_share ? [[percent(stripped.saved_share.value, 1), `saved by stripping it afterwards; ${percent(stripped.saved_bytes_share, 0)} of the bytes`]] : []));
  const tops = bill.rows.filter(row => !row.path.includes('.'));
  const two = element(section, 'div', 'pair');
  const bars = (parent, sets, title) => plot(parent, () => ({
    type: 'bar',
    data: {labels: sets[0].labels, datasets: sets.map(s => ({label: s.label, data: s.data, backgroundColor: color(s.color), maxBarThickness: 26}))},
    options: {indexAxis: 'y', responsive: true, maintainAspectRatio: false,
      plugins: {legend: {display: sets.length > 1, labels: {usePointStyle: true, boxWidth: 6, boxHeight: 6}}},
      scales: {x: {stacked: true, title: {display: true, text: title}, beginAtZero: true}, y: {stacked: true, grid: {display: false}}}}}), tops.length < 4 ? 'short' : '');
  bars(card(two, 'Time by field', `Mean of ${bill.answers} answers; a chosen token costs the pass that takes it in.`),
    [{label: 'ms', labels: tops.map(t => t.path), data: tops.map(t => t.ms.value), color: 'tail'}], 'ms of an answer');
  bars(card(two, 'Tokens by field', 'Forced tokens are those that the schema left no choice about.'),
    [{label: 'chosen', labels: tops.map(t => t.path), data: tops.map(t => t.chosen ?? t.tokens), color: 'tail'}, {label: 'forced', data: tops.map(t => t.forced ?? 0), color: 'first'}], 'tokens of an answer');
  const row = (name, b) => [name, shown(b.tokens), shown(b.forced), shown(b.chosen), range(b.ms), percent(b.share)];
  table(card(section, 'The bill', 'Nested fields are in their parent.'),
    [['field', ''], ['tokens', 'number'], ['forced', 'number'], ['chosen', 'number'], ['ms', 'number'], ['share', 'number']],
    [['prompt, to the first chosen token', '–', '–', '–', range(bill.start_ms), percent(bill.start_ms.value / bill.whole_ms.value)],
      ...bill.rows.map(b => row(b.path, b)), row('braces', bill.frame), ['end token', shown(bill.end_tokens), '–', '–', range(bill.end_ms), percent(bill.end_ms.value / bill.whole_ms.value)]]);
  if (r.variants.length > 1) {
    const pct = e => e ? `${percent(e.value)} (${(100 * e.low).toFixed(1)} to ${(100 * e.high).toFixed(1)})` : '–';
    table(card(section, 'Leaving out', 'Time against the full answers to the same prompts, with 95 % intervals.'),
      [['variant', ''], ['n', 'number'], ['tokens', 'number'], ['ms', 'number'], ['time saved', 'number'], ['by the bill', 'number'], ['saved over bill', 'number'], ['the others alike', 'number'], ['bytes saved', 'number']],
      r.variants.map(v => [v.name, v.n, shown(v.tokens), range(v.ms), pct(v.saved_share), v.kind === 'stripped' ? '–' : percent(v.billed_share), v.kind === 'stripped' ? '–' : range(v.over_bill), v.kind === 'stripped' || !v.alike ? '–' : `${range(v.alike)}, n = ${v.alike.n}`, percent(v.saved_bytes_share, 0)]));
    const right = (v, field) => { const one = v.right.find(x => x.field === field); return one ? `${one.right} of ${one.n}` : '–'; };
    const self = field => { const one = r.self_agreement.find(x => x.field === field); return one ? `${one.same} of ${one.n}` : 'not asked twice'; };
    const changes = r.variants.flatMap(v => v.agreement.map(a => [a.field, v.name, a.n, a.same,
      `${percent(a.changed.share, 0)} (${percent(a.changed.low, 0)} to ${percent(a.changed.high, 0)})`, self(a.field),
      a.mean_full === null ? '–' : `${shown(a.mean_full)} → ${shown(a.mean_here)}`, right(r.variants[0], a.field), right(v, a.field)]));
    table(card(section, 'Other answers', 'Tokens that are not written were part of the computation: how often a field\'s value differs from the full answer\'s.'),
      [['field', ''], ['variant', ''], ['n', 'number'], ['the same', 'number'], ['other value', 'number'], ['full against itself', 'number'], ['mean', 'number'], ['right in full', 'number'], ['right here', 'number']],
      changes.sort((a, b) => a[0].localeCompare(b[0])));
    for (const note of r.notes) element(section, 'p', 'soft', note);
    if (r.order.length) element(section, 'p', 'soft', 'Reordered: ' + r.order.join(', ') + '.');
  }
  if (r.lint) {
    const box = card(section, 'Lint', r.lint.findings.length ? 'Each with what to write in its place.' : 'Nothing to say of this schema.');
    if (r.lint.findings.length) {
      table(box, [['field', ''], ['rule', ''], ['', 'wide'], ['write', 'wide']], r.lint.findings.map(f => [f.path || 'the root', {tag: 'warn', text: f.rule}, f.text, f.proposal]));
      element(box, 'p', 'soft', 'All of it in one schema:');
      element(box, 'pre', '', JSON.stringify(r.lint.proposed_schema, null, 1));
    }
  }
}
