import type { TurnMetrics, VoiceEvent } from 'rxvoice';
import { int16View } from 'rxvoice/audio';
import { decodeSamples } from '../sandbox/modem.ts';
import { lines, ofType, type CallRecord } from './call.ts';

/** One turn of the call. */
export interface TurnSummary {
  readonly said: string;
  readonly transcribed: string;
  readonly answered: string;
  /** Of the answer, in whole words, by the library's reckoning. */
  readonly heard: string;
  /** The same, to the last character, read back from the samples that the output played; the sandbox's voice only. */
  readonly readBack: string | undefined;
  readonly ended: string;
  readonly latency: TurnMetrics;
}

/** What came of a call. */
export interface CallSummary {
  readonly turns: readonly TurnSummary[];
  readonly history: readonly { readonly role: string; readonly content: string }[];
  readonly preflights: { readonly started: number; readonly adopted: number; readonly discarded: number };
  /** Requests to the language model: one a turn, and one for each preflight that came to nothing. */
  readonly requests: number;
  /** What is wrong; empty when every word survived and the history is what was heard. */
  readonly faults: readonly string[];
}

const words = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();

/** Reads a call's record. */
export function summarize(call: CallRecord, real: boolean): CallSummary {
  const { events, history } = call;
  const turns = ofType(events, 'turn.committed').map(({ turnId = '', text }, index) => {
    const of = <T extends VoiceEvent['type']>(type: T): VoiceEvent<T> | undefined =>
      ofType(events, type).find((event) => event.turnId === turnId);
    const metrics = of('turn.metrics');
    return {
      said: (lines[index] ?? '').replace(/\s*…\s*/, ' '),
      transcribed: text,
      answered: of('llm.completed')?.text ?? of('llm.aborted')?.text ?? '',
      heard: of('speech.ended')?.heardText.trim() ?? '',
      readBack: real ? undefined : readBack(call, turnId),
      ended: of('turn.ended')?.reason ?? '',
      latency: metrics ? latencyOf(metrics) : {},
    };
  });
  const started = ofType(events, 'preflight.started').length;
  const adopted = ofType(events, 'preflight.adopted').length;
  const discarded = ofType(events, 'preflight.discarded').length;
  const requests = turns.length + discarded;
  const summary = { turns, history: history.map(({ role, content }) => ({ role, content })), requests };
  const preflights = { started, adopted, discarded };
  return { ...summary, preflights, faults: faultsOf(turns, call, preflights) };
}

function latencyOf(event: VoiceEvent<'turn.metrics'>): TurnMetrics {
  return Object.fromEntries(Object.entries(event).filter(([key, value]) => typeof value === 'number' && key !== 'at'));
}

/** The text in the samples that were played of one turn's answer, to the last whole character. */
function readBack({ events, heard }: CallRecord, turnId: string): string {
  const speeches = ofType(events, 'speech.ended');
  const to = speeches.find((event) => event.turnId === turnId)?.at ?? 0;
  const from = speeches.findLast(({ at }) => at < to)?.at ?? 0;
  const chunks = heard.filter(({ timestamp = 0 }) => timestamp >= from && timestamp < to);
  const samples = chunks.flatMap(({ data }) => Array.from(int16View(data)));
  const rate = chunks[0]?.metadata?.sampleRate ?? 24_000;
  return decodeSamples(Int16Array.from(samples), rate).text.trim();
}

/** Whether a text is what was audible, in whole words: the word in which the voice was cut off may be missing. */
function isHeard(heard: string, audible: string): boolean {
  const more = words(audible).slice(words(heard).length).trim();
  return words(audible).startsWith(words(heard)) && !more.includes(' ');
}

function faultsOf(turns: readonly TurnSummary[], call: CallRecord, preflights: CallSummary['preflights']): string[] {
  const faults: string[] = [];
  const expect = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault);
  };
  expect(turns.length === lines.length, `${turns.length} turns instead of ${lines.length}`);
  for (const { said, transcribed, heard, readBack: read, ended, answered } of turns) {
    expect(words(said) === words(transcribed), `said "${said}", transcribed "${transcribed}"`);
    expect(ended !== 'completed' || words(heard) === words(answered), `answered "${answered}", heard "${heard}"`);
    if (read !== undefined) {
      expect(isHeard(heard, read), `heard "${heard}", but the samples say "${read}"`);
    }
  }
  expect(turns[3]?.ended === 'interrupted', 'the story was not interrupted');
  expect(preflights.adopted >= 1, 'no preflight was adopted');
  expect(preflights.discarded >= 1, 'no preflight was discarded');
  const remembered = call.history.map(({ role, content }) => `${role}: ${words(content)}`);
  const told = turns.flatMap((turn) => [
    `user: ${words(turn.transcribed)}`,
    ...(turn.heard ? [`assistant: ${words(turn.heard)}`] : []),
  ]);
  expect(remembered.join('|') === told.join('|'), 'the history is not what was said and heard');
  for (const { code, message } of ofType(call.events, 'error')) {
    // A model that retires still answers.
    if (code !== 'retiring') faults.push(`error: ${message}`);
  }
  return faults;
}

/** The summary for people. */
export function printSummary(summary: CallSummary, print: (line: string) => void): void {
  for (const [index, turn] of summary.turns.entries()) {
    const { said, transcribed, answered, heard, readBack: read, ended, latency } = turn;
    print('');
    print(`Turn ${index + 1} (${ended})`);
    print(`  said         ${said}`);
    print(`  transcribed  ${transcribed}`);
    print(`  answered     ${answered}`);
    print(`  heard        ${heard}`);
    if (read !== undefined) print(`  in the audio ${read}`);
    const parts = Object.entries(latency).map(([name, ms]) => `${name} ${Math.round(ms as number)}`);
    print(`  latency (ms) ${parts.join(', ')}`);
  }
  print('');
  print('The history holds');
  for (const { role, content } of summary.history) print(`  ${role.padEnd(10)} ${content}`);
  const { started, adopted, discarded } = summary.preflights;
  print('');
  print(`Preflights: ${started} started, ${adopted} adopted, ${discarded} discarded; ${summary.requests} requests`);
}
