import type { CallRecord, CallUtterance } from './call-record.ts';
import { escaped } from './escaped.ts';
import type { CallResult, Evaluation, Outcome, ScenarioResult, Verdict } from './evaluate.ts';
import { pageStyle } from './page-style.ts';
import { timelineOf } from './timeline.ts';

/**
 * An evaluation as one HTML file that loads nothing: each call's words on a time axis, and what the judges found.
 *
 * @param options - `title`: what was evaluated, such as a version. Default: `Evaluation`.
 */
export function evaluationPage(
  evaluation: Evaluation,
  { title = 'Evaluation' }: { readonly title?: string } = {},
): string {
  const { scenarios, outcome, seed, time } = evaluation;
  const calls = scenarios.flatMap((scenario) => scenario.calls);
  const count = (wanted: Outcome): number => calls.filter((call) => call.outcome === wanted).length;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)}: ${outcome}</title>
<style>${pageStyle}</style>
</head>
<body>
<header>
<h1>${escaped(title)} ${badge(outcome)}</h1>
<p>${calls.length} calls: ${count('passed')} passed, ${count('failed')} failed, ${count('error')} with errors. Seed ${seed}, ${time} time.</p>
</header>
<main>
${scenarios.map(scenarioPart).join('\n')}
</main>
<footer><p class="legend"><span class="caller"></span> caller <span class="agent"></span> agent <span class="agent cut"></span> cut off <span class="noise"></span> noise <span class="tool"></span> tool</p></footer>
</body>
</html>
`;
}

/** An evaluation for programs, such as CI: verdicts, words, tools and latencies. */
export function evaluationJson(evaluation: Evaluation): string {
  const scenarios = evaluation.scenarios.map((scenario) => ({
    ...scenario,
    calls: scenario.calls.map(({ record, ...result }) => ({ ...result, ...(record ? { record: brief(record) } : {}) })),
  }));
  return `${JSON.stringify({ ...evaluation, scenarios }, undefined, 2)}\n`;
}

/** Without what only a program that has run the call needs. */
function brief({ events: _events, history: _history, startedAt: _startedAt, metrics, ...record }: CallRecord): object {
  const times = metrics.map((turn) => Object.fromEntries(Object.entries(turn).filter(([key]) => !envelope.has(key))));
  return { ...record, metrics: times };
}

const envelope = new Set(['type', 'at', 'turnId', 'speechId', 'role', 'provider']);

function scenarioPart({ name, outcome, passRate, calls }: ScenarioResult, index: number): string {
  const rate = calls.length > 1 ? ` <small>${Math.round(passRate * 100)}% of ${calls.length} calls passed</small>` : '';
  const parts = calls.map((call, at) => callPart(call, `s${index}-${at}`, calls.length > 1));
  return `<section><h2>${escaped(name)} ${badge(outcome)}${rate}</h2>\n${parts.join('\n')}\n</section>`;
}

function callPart(call: CallResult, id: string, isOneOfMany: boolean): string {
  const { outcome, repetition, seed, verdicts, error, record } = call;
  // What is well needs no attention.
  const open = outcome === 'passed' && isOneOfMany ? '' : ' open';
  const length = record
    ? `${(record.durationMs / 1_000).toFixed(1)} s, ended by ${endedBy[record.endedBy]}`
    : 'not begun';
  return `<details${open}>
<summary>${badge(outcome)} Call ${repetition} <small>${length}, seed ${seed}</small></summary>
${error === undefined ? '' : `<p class="trouble">${escaped(error)}</p>`}
${verdicts.length > 0 ? `<ul class="verdicts">${verdicts.map(verdictPart).join('')}</ul>` : ''}
${record ? `${timelineOf(record, id)}\n${transcriptPart(record, id)}` : ''}
</details>`;
}

const endedBy = { caller: 'the caller', agent: 'the agent', limit: 'the limit' } as const;

function verdictPart({ judge, outcome, reason }: Verdict): string {
  return `<li>${badge(outcome)} <b>${escaped(judge)}</b><br>${escaped(reason)}</li>`;
}

function transcriptPart({ utterances, tools }: CallRecord, id: string): string {
  const spoken = utterances.map((utterance, index) => ({
    atMs: utterance.startMs,
    html: `<li class="${utterance.who}" id="${id}-${index}">${timeOf(utterance.startMs)}${wordsOf(utterance)}</li>`,
  }));
  const ran = tools.map(({ atMs, call, outcome, content }) => ({
    atMs,
    html:
      `<li class="tool">${timeOf(atMs)}<p><code>${escaped(`${call.name}(${call.argsText})`)}</code> ` +
      `${escaped(content === undefined ? outcome : `${outcome}: ${content}`)}</p></li>`,
  }));
  const lines = [...spoken, ...ran].sort((one, other) => one.atMs - other.atMs);
  return `<ol class="transcript">${lines.map(({ html }) => html).join('')}</ol>`;
}

function wordsOf(utterance: CallUtterance): string {
  const { who, text } = utterance;
  if (utterance.who === 'caller')
    return `<p><b>${who}</b> ${escaped(text)}${utterance.isInterruption ? note('interrupts') : ''}</p>`;
  const { fullText, isInterrupted } = utterance;
  const unheard = isInterrupted && fullText.startsWith(text) ? fullText.slice(text.length) : '';
  const rest = unheard === '' ? '' : `<span class="unheard"> (never heard: ${escaped(unheard.trim())})</span>`;
  return `<p><b>${who}</b> ${escaped(text)}${isInterrupted ? note('cut off') : ''}${rest}</p>`;
}

function note(text: string): string {
  return ` <em>${text}</em>`;
}

function timeOf(ms: number): string {
  const seconds = (ms / 1_000).toFixed(1);
  return `<time>${seconds} s</time>`;
}

const signs = { passed: '✓', failed: '✗', error: '!' } as const;

function badge(outcome: Outcome): string {
  return `<span class="badge ${outcome}">${signs[outcome]} ${outcome}</span>`;
}
