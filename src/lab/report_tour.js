// SPDX-License-Identifier: Apache-2.0
// Results that looked into the model, and the tour that goes through all of them.
function logits(section, input) {
  const r = input.document;
  barPlot(card(section, `After "${r.prompt}"`, `The largest of ${r.vocabulary.toLocaleString('en')} scores, as probabilities.`),
    r.top.map(t => JSON.stringify(t.text)), r.top.map(t => 100 * t.p), '%', 'first');
  table(card(section, 'One row under every setting', 'The digest of the row beside the token that each setting made of it.'),
    [['setting', ''], ['chosen', ''], ['digest of the row', 'wide']], r.settings.map(s => [s.name, JSON.stringify(s.chosen), s.logits_digest]));
}

function trace(section, input) {
  const r = input.document, decoded = r.passes.filter(p => p.kind === 'decode');
  const selected = r.passes.filter(p => p.selected !== null);
  const failed = r.verdicts.filter(v => v.outcome === 'fails');
  if (r.fault) banner(section, 'bad', 'Read up to here: ' + r.fault);
  if (r.verdicts.length) banner(section, failed.length ? 'bad' : 'good', failed.length ? `Fails: ${failed[0].name}.` : 'Holds: every pass follows from the one before, and gives the same when computed again.');
  figures(section, [[r.passes.length, 'passes'], [selected.length, 'tokens selected'],
    [ms(median(decoded.map(p => p.forward_us / 1000))), 'a pass that decodes, in the median'], [r.finish_reason ?? 'not ended', 'how it ended']]);
  plot(card(section, 'The passes', 'Time of each forward pass; the first takes the whole prompt.'), () => ({
    type: 'bar',
    data: {labels: r.passes.map(p => p.step), datasets: [{label: 'forward', data: r.passes.map(p => p.forward_us / 1000),
      backgroundColor: r.passes.map(p => color(p.kind === 'decode' ? 'tail' : 'first')), categoryPercentage: 1, barPercentage: .85}]},
    options: {responsive: true, maintainAspectRatio: false, plugins: {legend: {display: false}},
      scales: {x: {title: {display: true, text: 'pass'}, grid: {display: false}, ticks: {maxTicksLimit: 12}}, y: {title: {display: true, text: 'ms'}, beginAtZero: true}}},
  }), 'short');
  if (r.verdicts.length) outcomes(card(section, 'Verified'), r.verdicts.map(v => [v.name, v.outcome, v.reason || v.checked || '']));
  const few = r.passes.slice(0, input.isPart ? 12 : 200);
  table(card(section, 'Prefix and selection', `"${r.prompt}" and what each pass added${few.length < r.passes.length ? `; the first ${few.length}` : ''}.`),
    [['pass', 'number'], ['kind', ''], ['prefix', 'number'], ['selected', ''], ['p', 'number'], ['gap', 'number'], ['ms', 'number'], ['prefix digest', '']],
    few.map(p => [p.step, p.kind, p.prefix_len, p.selected === null ? '–' : JSON.stringify(p.selected), percent(p.p), shown(p.gap), shown(p.forward_us / 1000), p.prefix_sha256.slice(0, 12)]));
}

function diverge(section, input) {
  const r = input.document;
  banner(section, r.claim.first === 'agrees' ? 'good' : 'warn', `${percent(r.diverged.share, 0)} (${percent(r.diverged.low, 0)} to ${percent(r.diverged.high, 0)}) of ${r.diverged.of} answers part within ${r.within} tokens; told elsewhere: ${percent(r.claim.share, 0)}.`);
  const points = kind => r.curve.map(c => ({x: c.within, y: 100 * c[kind].share}));
  const bound = end => r.curve.map(c => ({x: c.within, y: 100 * c.first[end]}));
  plot(card(section, 'How soon answers part', 'Share of answers that differ within k tokens behind one changed word, with its 95 % interval.'), () => ({
    data: {datasets: [
      {type: 'line', label: 'first difference', data: points('first'), borderColor: color('first'), borderWidth: 2, pointRadius: 2, pointStyle: 'line'},
      {type: 'line', label: 'different to the end', data: points('lasting'), borderColor: color('tail'), borderWidth: 2, pointRadius: 2, pointStyle: 'line'},
      {type: 'line', label: '_high', data: bound('high'), borderWidth: 0, pointRadius: 0, backgroundColor: color('band'), fill: '+1'},
      {type: 'line', label: '_low', data: bound('low'), borderWidth: 0, pointRadius: 0}]},
    options: axes('tokens behind the change', '%', {y: {beginAtZero: true, max: 100}})}));
}

function phases(section, input) {
  const r = input.document, last = r.lengths[r.lengths.length - 1];
  figures(section, [
    [shown(last.prefill.tok_s), `prompt tokens per second, at ${last.prompt}`], [shown(last.decode.tok_s), 'output tokens per second there'],
    [shown(last.exchange.value), `prompt tokens for one output token (${shown(last.exchange.low)} to ${shown(last.exchange.high)})`],
    [percent(last.prefill.of_int8.value, 0) + ' / ' + percent(last.decode.of_read.value, 0), 'of the arithmetic in prefill, of the bandwidth in decode']]);
  const two = element(section, 'div', 'pair');
  plot(card(two, 'Rates', 'Tokens per second by prompt length.'), () => ({
    data: {datasets: [['prefill', 'first'], ['decode', 'tail']].map(([name, c]) => ({type: 'line', label: name, pointStyle: 'line', borderColor: color(c), borderWidth: 2, pointRadius: 3, data: r.lengths.map(l => ({x: l.prompt, y: l[name].tok_s}))}))},
    options: axes('prompt tokens', 'tokens per second', {x: {type: 'logarithmic'}, y: {type: 'logarithmic'}})}));
  plot(card(two, 'One output token', 'With keys and values kept, and with all passes done again.'), () => ({
    data: {datasets: [['cached', 'kept', 'tail'], ['uncached', 'not kept', 'third']].map(([name, label, c]) => ({type: 'line', label, pointStyle: 'line', borderColor: color(c), borderWidth: 2, pointRadius: 3, data: r.lengths.map(l => ({x: l.prompt, y: l.token_ms[name].value}))}))},
    options: axes('position', 'ms', {x: {type: 'logarithmic'}, y: {type: 'logarithmic'}})}));
  outcomes(card(section, 'Verdicts'), r.verdicts.map(v => [v.name, v.holds === null ? 'not checked' : v.holds ? 'holds' : 'fails', v.reason]));
}

function tour(section, input) {
  const r = input.document;
  const tag = {'holds': 'good', 'does not hold': 'bad', 'cannot tell': 'warn', 'differs here': 'warn'};
  figures(section, [[r.holds, 'claims hold'], [r.does_not_hold, 'do not hold here'], [r.cannot_tell + r.differs_here, 'differ here or cannot be told'], [shown(r.seconds / 60, 2) + ' min', 'of measuring']]);
  table(card(section, 'All claims'), [['', ''], ['', ''], ['claim', ''], ['here', '']],
    r.chapters.flatMap(c => c.findings.map(f => [f.row, {tag: tag[f.verdict], text: f.verdict}, f.title, f.figure])));
  if (r.left_out) element(section, 'p', 'soft', 'Left out: ' + r.left_out + '.');
  conditions(section, r.conditions);
  for (const [i, chapter] of r.chapters.entries()) {
    element(section, 'h2', 'chapter', `${chapter.number ?? i + 1}  ${chapter.title}`);
    for (const f of chapter.findings) {
      const box = element(section, 'div', 'card finding');
      const head = element(box, 'p', '');
      element(head, 'b', '', f.row + '  ');
      head.append(f.claim || f.title);
      const said = element(box, 'p', '');
      element(said, 'span', 'tag ' + tag[f.verdict], f.verdict);
      said.append(' ' + f.measured);
    }
    for (const result of chapter.results) {
      const render = (kinds[result.kind] || [])[1];
      if (render) render(section, {document: result, gaps: [], timeline: [], isPart: true});
    }
    const closer = element(section, 'p', 'soft', 'Closer: ');
    element(closer, 'code', '', chapter.closer);
  }
}
