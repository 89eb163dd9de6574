// SPDX-License-Identifier: Apache-2.0
// Results that measured a server: sweep, compare, predict, score, load, cancel.
function sweep(section, input) {
  const result = input.document, fit = result.fit || {}, parts = fit.coefficients;
  if (result.void_because.length === 0) banner(section, 'good', 'Holds: start-up and tail are two clocks here.');
  for (const reason of result.void_because) banner(section, 'bad', 'Void. ' + reason);
  if (parts) {
    const last = fit.exchange_rates[fit.exchange_rates.length - 1], first = fit.exchange_rates[0];
    figures(section, [
      [shown(parts.a_ms.value) + ' ms', `start-up (${shown(parts.a_ms.low)} to ${shown(parts.a_ms.high)})`],
      [shown(parts.b_ms.value) + ' ms', `per prompt token (${shown(parts.b_ms.low)} to ${shown(parts.b_ms.high)})`],
      [shown(parts.c0_ms.value) + ' ms', `per output token (${shown(parts.c0_ms.low)} to ${shown(parts.c0_ms.high)})`],
      [shown(first.rate.value) + ' → ' + shown(last.rate.value), `prompt tokens for one output token, at ${shown(first.prompt)} and ${shown(last.prompt)} tokens`]]);
  }
  const inArms = result.points.filter(p => p.arm === 'prompt' || p.arm === 'output');
  const two = element(section, 'div', 'pair');
  fitPlot(card(two, 'The prompt moves the start-up', 'Time to first token against prompt length.'),
    inArms.map(p => ({x: p.prompt_tokens, y: p.ttft_ms})), fit.first_token_band, 'prompt tokens', 'ms to the first token', 'first', 'band');
  fitPlot(card(two, 'The output moves the tail', 'Time per output token against the context it saw.'),
    inArms.filter(p => p.tpot_ms !== null && p.output_tokens >= 8).map(p => ({x: p.prompt_tokens + p.output_tokens / 2, y: p.tpot_ms})),
    fit.output_token_band, 'context, tokens', 'ms per output token', 'tail', 'band-tail');
  const more = element(section, 'div', 'pair');
  stackedPlot(card(more, 'Before and after the first text', 'Means of each shape, prompt × output tokens.'),
    result.shapes.map(s => ({name: `${Math.round(s.prompt_asked)} × ${Math.round(s.output_asked)}`, before: s.ttft_ms.mean, after: s.e2e_ms.mean - s.ttft_ms.mean})));
  if (fit.first_token && fit.output_token) {
    residualPlot(card(more, 'Residuals', 'What the fits leave over: a pattern here is a wrong curve.'),
      [['first token', fit.first_token.residuals, 'first'], ['per output token', fit.output_token.residuals, 'tail']]);
  }
  if (input.gaps.length || input.timeline.length) {
    const raw = element(section, 'div', 'pair');
    if (input.gaps.length) gapPlot(card(raw, 'Gaps between tokens', `${input.gaps.length} gaps of all measured streams.`), input.gaps);
    if (input.timeline.length) timelinePlot(card(raw, 'Timeline', 'Requests in the order they were sent.'), input.timeline);
  }
  const found = v => v.finding === 'clear' ? {tag: 'good', text: 'clear'} : v.finding === 'found' ? {tag: v.voids_split ? 'bad' : 'warn', text: 'found'} : {tag: 'warn', text: 'cannot tell'};
  const verdicts = card(section, 'Verdicts', 'What could blur the two clocks, looked for in the raw records.');
  table(verdicts, [['', ''], ['', ''], ['', 'wide']], result.verdicts.map(v => [v.name, found(v), v.text])
    .concat(result.symptoms.map(s => [s.name, {tag: s.refuses ? 'bad' : 'warn', text: 'sign'}, s.text])));
  if (result.streaming) {
    const s = result.streaming;
    element(verdicts, 'p', 'soft', `Streaming moves the first text, not the last: first after ${ms(s.streamed_first_ms)}, the end after ${ms(s.streamed_end_ms)} streamed and ${ms(s.whole_end_ms)} not; ratio ${range(s.ratio)}.`);
  }
  if (result.cache_probe) element(verdicts, 'p', 'soft', 'The server\'s cache: ' + result.cache_probe.text + '.');
  if (result.additivity.length) {
    const box = card(section, 'Both together', 'Long prompt and long answer in one request, which no fit has seen, beside the sum of the two clocks.');
    table(box, [['prompt', 'number'], ['output', 'number'], ['n', 'number'], ['measured', 'number'], ['sum', 'number'], ['gap', 'number']],
      result.additivity.map(r => [r.prompt, r.output, r.n, ms(r.measured_ms), ms(r.predicted_ms.value),
        `${percent(r.gap.value)} (${percent(r.gap.low)} to ${percent(r.gap.high)})`]));
    if (result.held_out) element(box, 'p', 'soft', `${result.held_out.covered} of ${result.held_out.n} single requests inside their 95 % interval; ${percent(result.held_out.median_error)} off in the median.`);
  }
  const p99 = p => p ? shown(p.value) + (p.is_few ? ' (few)' : '') : '–';
  table(card(section, 'All shapes', 'Medians with 95 % intervals; a p99 of fewer than 100 is marked.'),
    [['arm', ''], ['asked', 'number'], ['got', 'number'], ['n', 'number'], ['TTFT ms', 'number'], ['p99', 'number'], ['per token ms', 'number'], ['end ms', 'number'], ['cached', 'number']],
    result.shapes.map(s => [s.arm, `${shown(s.prompt_asked)} × ${shown(s.output_asked)}`, `${shown(s.prompt_got, 4)} × ${shown(s.output_got, 4)}`, s.ttft_ms.n,
      range(s.ttft_ms.p50), p99(s.ttft_ms.p99), s.tpot_ms ? range(s.tpot_ms.p50) : '–', shown(s.e2e_ms.p50.value), percent(s.cached_share)]));
}

function compare(section, input) {
  const r = input.document, name = half => `${shown(half.prompt_tokens)} in, ${shown(half.output_tokens)} out`;
  const longer = r.slower === 'a' ? r.a : r.b, ratio = r.slower === 'b' ? 1 / r.ratio.value : r.ratio.value;
  banner(section, r.slower === 'cannot tell' ? 'warn' : 'good', r.slower === 'cannot tell'
    ? 'Cannot tell: the interval of the ratio holds 1.' : `${name(longer)} takes ${shown(ratio)} times as long.`);
  stackedPlot(card(section, 'Before and after the first text', 'Means.'), [r.a, r.b].map(h => ({name: name(h), before: h.before_first_ms, after: h.after_first_ms})));
  const right = rule => rule.right === null ? '–' : rule.right ? {tag: 'good', text: 'right'} : {tag: 'bad', text: 'wrong'};
  table(card(section, 'What each rule would have said'), [['rule', ''], ['slower', ''], ['', '']], [
    ['output length', r.by_output_length.says, right(r.by_output_length)],
    ['total tokens', r.by_total_tokens.says, right(r.by_total_tokens)]]);
  table(card(section, 'Exchange rate', 'Prompt tokens that take as long as one output token.'), [['', ''], ['', 'number']], [
    ['as these two show it', range(r.exchange_rate)], ['the order turns at', shown(r.order_turns_at_exchange_rate)],
    [`told of data-centre accelerators`, shown(r.claim.exchange_rate)], ['a over b at that rate', shown(r.claim.ratio)], ['a over b here', range(r.ratio)]]);
}

function predict(section, input) {
  const r = input.document;
  const said = rule => rule.state === 'refuses' ? {tag: 'warn', text: 'refuses'} : rule.state === 'lacks' ? {tag: 'warn', text: 'lacks'} : rule.slower === 'cannot tell' ? {tag: 'warn', text: 'cannot tell'} : {tag: 'good', text: rule.slower + ' takes longer'};
  element(section, 'p', '', `a: ${shown(r.a.prompt)} in, ${shown(r.a.output)} out ${r.a.place || ''} · b: ${shown(r.b.prompt)} in, ${shown(r.b.output)} out ${r.b.place || ''}`);
  table(card(section, 'Three rules'), [['rule', ''], ['', ''], ['a ms', 'number'], ['b ms', 'number'], ['', 'wide']],
    r.rules.map(x => [x.name, said(x), range(x.a_ms), range(x.b_ms), x.reasons.join(' · ')]));
  for (const note of r.notes) element(section, 'p', 'soft', note);
  if (r.order_turns_at_exchange_rate) element(section, 'p', 'soft', `The order turns at an exchange rate of ${shown(r.order_turns_at_exchange_rate)}; here it is ${range(r.exchange_rate)}.`);
  conditions(section, {...r.a.conditions});
  if (r.b.conditions && JSON.stringify(r.b.conditions) !== JSON.stringify(r.a.conditions)) conditions(section, {...r.b.conditions});
}

function score(section, input) {
  const r = input.document;
  banner(section, r.holds ? 'good' : 'bad', r.holds ? 'Holds: the full fit is right in at least 95 % of the pairs it decides.' : 'Fails: the full fit is right in less than 95 % of the pairs it decides.');
  figures(section, [
    [`${r.intervals.covered} of ${r.intervals.n}`, 'single requests inside their 95 % interval'],
    [percent(r.median_error), 'off in the median'],
    [shown(r.r2_output_length.inside_fence.value), `share of the variance that output length explains inside the fence (${shown(r.r2_output_length.inside_fence.low)} to ${shown(r.r2_output_length.inside_fence.high)})`],
    [shown(r.r2_output_length.overall.value), 'the same with prompts of all lengths']]);
  table(card(section, 'Rules', `${r.pairs} pairs.`), [['rule', ''], ['decided', 'number'], ['right', 'number'], ['', 'number'], ['cannot tell', 'number'], ['refused', 'number']],
    r.rules.map(x => [x.name, x.decided, x.right, percent(x.share_right), x.cannot_tell, x.refused]));
  plot(card(section, 'Predicted and measured', 'One point for each request; on the line they agree.'), () => {
    const all = r.measured.flatMap(m => [m[2], m[3]]), low = Math.min(...all), high = Math.max(...all);
    return {data: {datasets: [
      {type: 'scatter', label: 'inside the interval', data: r.measured.filter(m => m[2] >= m[4] && m[2] <= m[5]).map(m => ({x: m[3], y: m[2]})), backgroundColor: color('first'), pointRadius: 3.5},
      {type: 'scatter', label: 'outside', data: r.measured.filter(m => m[2] < m[4] || m[2] > m[5]).map(m => ({x: m[3], y: m[2]})), backgroundColor: color('bad'), pointStyle: 'triangle', pointRadius: 5},
      {type: 'line', label: '_equal', data: [{x: low, y: low}, {x: high, y: high}], borderColor: color('soft'), borderWidth: 1, pointRadius: 0}]},
      options: axes('predicted ms', 'measured ms', {x: {type: 'logarithmic'}, y: {type: 'logarithmic'}})};
  }, 'tall');
}

function load(section, input) {
  const r = input.document, states = r.states || {}, client = r.client || {};
  if (client.is_void) banner(section, 'bad', client.fault[0].toUpperCase() + client.fault.slice(1));
  for (const limit of r.limits || []) {
    banner(section, limit.holds === null ? 'warn' : limit.holds ? 'good' : 'bad',
      `${limit.holds === null ? 'Cannot tell' : limit.holds ? 'Holds' : 'Missed'}: ${limit.name} p${limit.percentile} ${ms(limit.value_ms)}, limit ${ms(limit.limit_ms)}.`);
  }
  figures(section, [
    [shown(r.request_throughput) + ' /s', `answers; ${shown(r.send_rate)} per second were sent`],
    [shown(r.output_throughput), 'output tokens per second'],
    [ms(r.median_ttft_ms), `to the first text in the median, p99 ${ms(r.p99_ttft_ms)}`],
    [ms(r.median_itl_ms), `from token to token in the median, p99 ${ms(r.p99_itl_ms)}`]]
    .concat(r.request_goodput === null || r.request_goodput === undefined ? [] : [[shown(r.request_goodput) + ' /s', `good answers, ${r.good_requests} of ${r.num_prompts}`]]));
  const names = [['ttft', 'first text'], ['ttft_first_answer', 'first text of the answer'], ['itl', 'token to token'], ['tpot', 'time per output token'], ['e2el', 'last text']];
  const row = (from, name, title) => [title, (r.samples[name] || {}).n ?? '–', ...['mean', 'median', 'p90', 'p95', 'p99'].map(s => shown(from[`${s}_${name}_ms`]))];
  const rows = names.map(([name, title]) => row(r, name, title));
  if (r.scheduled && r.scheduled.median_ttft_ms !== null) rows.push(row(r.scheduled, 'ttft', 'first text, from the schedule'), row(r.scheduled, 'e2el', 'last text, from the schedule'));
  table(card(section, 'Times', 'Milliseconds of the answers that succeeded.'),
    [['', ''], ['n', 'number'], ['mean', 'number'], ['median', 'number'], ['p90', 'number'], ['p95', 'number'], ['p99', 'number']], rows);
  const raw = element(section, 'div', 'pair');
  if (input.gaps.length) gapPlot(card(raw, 'Gaps between tokens', `${input.gaps.length} gaps.`), input.gaps);
  if (input.timeline.length) timelinePlot(card(raw, 'Timeline', 'Requests as they ended.'), input.timeline);
  const box = card(section, 'How the requests ended', `${shown(r.send_window_s)} s of sending, then ${shown(r.drain_s)} s until the last end; at most ${r.most_in_flight} at once.`);
  table(box, [['', ''], ['', 'number']], Object.entries(states).map(([key, value]) => [key.replaceAll('_', ' '), value]));
  if (r.errors && r.errors.length) table(box, [['failure', ''], ['n', 'number'], ['', 'wide']], r.errors.map(e => [e.kind, e.count, e.error]));
  element(box, 'p', 'soft', `The client: p99 of its own lateness ${ms(client.p99_wake_late_ms)}, of its sending ${ms(client.p99_send_late_ms)}, ${percent(client.cpu_share)} of a processor; ${client.held_by_cap ?? 0} requests waited here for a place.`);
}

function cancel(section, input) {
  const r = input.document, extra = r.decoded === null ? 0 : Math.max(0, r.decoded - r.landed);
  banner(section, r.holds ? 'good' : 'bad', r.saved_tokens === null ? 'What the server went on to compute is not known.'
    : `Left after ${r.landed} of ${r.whole_tokens} tokens: ${r.saved_tokens} tokens and ${shown(r.saved_s)} s saved.`);
  plot(card(section, 'The bill', 'Output tokens: what landed, what was decoded beside that, what was saved or is not known.'), () => ({
    type: 'bar',
    data: {labels: ['the whole answer', 'left'], datasets: [
      {label: 'landed', data: [r.whole_tokens, r.landed], backgroundColor: color('first'), maxBarThickness: 34},
      {label: 'decoded beside that', data: [0, extra], backgroundColor: color('bad'), maxBarThickness: 34},
      {label: 'saved', data: [0, r.saved_tokens || 0], backgroundColor: color('third'), maxBarThickness: 34},
      {label: 'not known', data: [0, r.unverified_tokens || 0], backgroundColor: color('line'), maxBarThickness: 34}]},
    options: {indexAxis: 'y', responsive: true, maintainAspectRatio: false,
      plugins: {legend: {labels: {usePointStyle: true, boxWidth: 6, boxHeight: 6}}},
      scales: {x: {stacked: true, title: {display: true, text: 'tokens'}}, y: {stacked: true, grid: {display: false}}}},
  }), 'short');
  outcomes(card(section, 'Verdicts'), r.verdicts.map(v => [v.name, v.outcome, v.reason]));
  table(card(section, 'The missing end, by every route', 'Each shows the prefix that it was computed from and its passes: none gets the end without its beginning.'),
    [['route', ''], ['prompt', 'number'], ['decoded', 'number'], ['passes', 'number'], ['ms', 'number'], ['prefix', ''], ['text', 'wide']],
    r.routes.map(x => [x.name, x.prompt_tokens ?? '–', x.decoded_tokens ?? '–', x.forward_passes ?? '–', shown(x.total_ms), x.prompt_sha256.slice(0, 12), x.text.slice(0, 160) + (x.text.length > 160 ? '…' : '')]));
}
