import { rmsLevel } from '../../../lib/audio/levels.ts';
import { decodeSamples, encodeSamples } from '../../../lib/audio/samples.ts';
import { alphaDialect } from '../../../lib/providers/stt/alpha-stt-dialect.ts';
import { alphaWire, type AlphaSTTConfig } from '../../../lib/providers/stt/alpha-stt.ts';
import { hear, silentHearing, type HearingEffect, type HearingInput } from '../../../lib/providers/stt/hearing.ts';
import { asObjects, type WireObject } from '../../../lib/core/guard.ts';
import { deltaDialect } from '../../../lib/providers/stt/delta-stt-dialect.ts';
import { deltaWire } from '../../../lib/providers/stt/delta-stt.ts';
import type { STTContext, STTWire } from '../../../lib/providers/stt/stt-wire.ts';
import { zetaDialect } from '../../../lib/providers/stt/zeta-stt-dialect.ts';
import { zetaFacts, zetaWire } from '../../../lib/providers/stt/zeta-stt.ts';
import { isLoud } from '../../../lib/providers/stt/voice-levels.ts';
import { mono16k } from './stt-fixture.ts';

const wire = { ...alphaWire, ...alphaDialect(alphaWire.rules) };

const context: STTContext<AlphaSTTConfig> = {
  ...{ config: {}, format: mono16k, now: 0, sentMs: 0, sentFrames: 0, audioEndMs: undefined, pendingMs: 0 },
  ...{ isEnding: false, isResumed: false },
  toAudioMs: (ms) => ms,
  isFinal: () => false,
  words: () => [],
};

/** What a service's messages come to, by hand, one every two seconds: no socket, no clock, no provider. */
function played(inputs: readonly HearingInput<AlphaSTTConfig>[], facts: Partial<STTContext<AlphaSTTConfig>> = {}) {
  const effects: HearingEffect[] = [];
  inputs.reduce((hearing, input, index) => {
    const [next, ...told] = hear(wire, hearing, input, { ...context, now: index * 2_000, ...facts });
    effects.push(...told);
    return next;
  }, silentHearing(wire.start()));
  return effects.map(brief);
}

function brief(effect: HearingEffect): string {
  if (effect.type === 'speech') return effect.event.type;
  if (effect.type !== 'transcript') return effect.type;
  const { text, isFinal, utteranceComplete, utteranceId } = effect.result;
  return `${utteranceId ?? ''} ${utteranceComplete ? '.' : isFinal ? '-' : '~'} ${text}`;
}

const begin: HearingInput<AlphaSTTConfig> = { type: 'begin', id: '1' };
const end: HearingInput<AlphaSTTConfig> = { type: 'end' };
const message = (fields: Record<string, unknown>): HearingInput<AlphaSTTConfig> => ({
  type: 'message',
  message: fields,
});
const words = (transcript: string, how: Record<string, unknown> = {}): HearingInput<AlphaSTTConfig> =>
  message({ type: 'Results', ...how, channel: { alternatives: [{ transcript }] } });
const arrival = (input: HearingInput<AlphaSTTConfig>): HearingInput<AlphaSTTConfig> => ({
  type: 'arrival',
  message: input.type === 'message' ? (input.message ?? {}) : {},
});
const loud: HearingInput<AlphaSTTConfig> = {
  type: 'sent',
  frames: [new Uint8Array(Int16Array.from({ length: 16_000 }, () => 16_000).buffer)],
};

describe('hear(): one fold of a wire', () => {
  const cases: Readonly<Record<string, readonly [readonly HearingInput<AlphaSTTConfig>[], readonly string[]]>> = {
    'a voice starts once, and ends with its utterance': [
      [
        begin,
        message({ type: 'SpeechStarted' }),
        words('one'),
        words('one two', { is_final: true, speech_final: true }),
      ],
      ['started', 'AlphaSTT-1 ~ one', 'ended', 'AlphaSTT-1 . one two'],
    ],
    'a voice comes before its words, once': [[arrival(words('one')), arrival(words('one two'))], ['started']],
    'a message that is final or silent has no voice': [
      [arrival(words(' ')), arrival(words('one', { is_final: true })), arrival(message({ type: 'Metadata' }))],
      [],
    ],
    'segments are one utterance until it is complete, and the next has a number of its own': [
      [words('a', { is_final: true }), words('b', { is_final: true, speech_final: true }), words('c')],
      ['AlphaSTT-1 - a', 'AlphaSTT-1 . a b', 'started', 'AlphaSTT-2 ~ c'],
    ],
    'a lost connection keeps the words that were final': [
      [begin, words('a', { is_final: true }), begin, words('b', { is_final: true, speech_final: true })],
      ['AlphaSTT-1 - a', 'AlphaSTT-1 . a b'],
    ],
    'the end of the session completes what was heard, and forgets it': [
      [words('a'), end, end],
      ['started', 'AlphaSTT-1 ~ a', 'ended', 'AlphaSTT-1 . a'],
    ],
    'an operation of the class is a message, one that the wire does not have is nothing': [
      [
        { type: 'command', name: 'finalize' },
        { type: 'command', name: 'constructor' },
      ],
      ['send-after-audio'],
    ],
    'changed options that no message tells need another connection': [
      [{ type: 'changed', changed: { language: 'fr' } }],
      ['reconnect'],
    ],
    'what cannot be read costs nothing else': [
      [{ type: 'message', message: undefined }, message({ type: 'constructor' }), words('a')],
      ['malformed', 'log', 'started', 'AlphaSTT-1 ~ a'],
    ],
  };
  for (const [name, [inputs, expected]] of Object.entries(cases)) {
    it(name, () => expect(played(inputs)).toEqual(expected));
  }

  it('voice without an answer counts, an answer ends the count, another beginning starts it again', () => {
    const inputs = [loud, words(''), loud, begin, loud, loud];
    expect(played(inputs, { config: { silenceTimeoutMs: 2_000 } })).toEqual(['dead']);
    expect(played(inputs, { config: { silenceTimeoutMs: false } })).toEqual([]);
    // Sent all at once: nobody answers in no time.
    expect(played(inputs, { config: { silenceTimeoutMs: 2_000 }, now: 0 })).toEqual([]);
  });

  it('voice that was sent at once and stays without an answer ends the patience while silence is sent', () => {
    const quiet: HearingInput<AlphaSTTConfig> = { type: 'sent', frames: [new Uint8Array(640)] };
    const config = { silenceTimeoutMs: 2_000 };
    const recording: HearingInput<AlphaSTTConfig> = { ...loud, frames: [...loud.frames, ...loud.frames] };
    expect(played([recording, quiet], { config })).toEqual(['dead']);
    expect(played([loud, quiet, quiet, quiet], { config })).toEqual([]);
  });

  it('a voice is as loud in each encoding as in samples', () => {
    const amplitudes = [0, 100, 300, 320, 330, 340, 400, 5_000, 32_000];
    for (const encoding of ['mulaw', 'alaw', 'linear16'] as const) {
      const format = { encoding, sampleRate: 8_000, channels: 1 };
      const heard = amplitudes.map((amplitude) => {
        const samples = Int16Array.from({ length: 160 }, (_, at) => (at % 2 ? amplitude : -amplitude));
        const frame = encodeSamples(samples, encoding);
        return [isLoud(frame, format), rmsLevel(decodeSamples(frame, encoding)) >= 0.01];
      });
      expect(heard.map(([isOne]) => isOne)).toEqual(heard.map(([, isOne]) => isOne));
      expect(new Set(heard.flat())).toEqual(new Set([true, false]));
      expect(isLoud(new Uint8Array(0), format)).toBe(false);
    }
  });

  it('what was final before is not said again', () => {
    const repeated = words('a', { is_final: true, speech_final: true, start: 0, duration: 1 });
    expect(played([repeated])).toEqual(['finalized', 'AlphaSTT-1 . a']);
    expect(played([repeated], { isFinal: () => true })).toEqual([]);
  });

  it('interim results that nobody wants leave no number behind', () => {
    const inputs = [words('a'), end, words('b'), end];
    expect(played(inputs, { config: { interimResults: false } })).toEqual([
      ...['started', 'ended', 'AlphaSTT-1 . a', 'started', 'ended', 'AlphaSTT-2 . b'],
    ]);
  });
});

/** A final piece of an utterance that no service ends, in each wire that joins pieces itself. */
const pieces: Readonly<Record<string, (text: string) => [wire: STTWire<object, unknown>, message: WireObject]>> = {
  AlphaSTT: (transcript) => [wire, { type: 'Results', is_final: true, channel: { alternatives: [{ transcript }] } }],
  DeltaSTT: (text) => [{ ...deltaWire, ...deltaDialect }, { tokens: [{ text, is_final: true }] }],
  ZetaSTT: (content) => [
    { ...zetaWire, ...zetaDialect(zetaFacts) },
    { message: 'AddTranscript', results: [{ type: 'word', alternatives: [{ content }] }] },
  ],
};

describe('an utterance that never ends', () => {
  for (const [name, piece] of Object.entries(pieces)) {
    it(`is ended when it is longer than anyone speaks, which is told: ${name}`, () => {
      const effects: HearingEffect[] = [];
      const [wire] = piece('');
      let hearing = silentHearing(wire.start());
      const words: STTContext<object>['words'] = (given, textOf) =>
        asObjects(given).map((word) => ({ text: textOf(word) ?? '' }));
      for (let at = 0; at < 40; at++) {
        const [, message] = piece(` ${'x'.repeat(20_000)}`);
        const [next, ...told] = hear(wire, hearing, { type: 'message', message }, { ...context, words });
        hearing = next;
        effects.push(...told);
      }
      const results = effects.flatMap((effect) => (effect.type === 'transcript' ? effect.result : []));
      expect(Math.max(...results.map(({ text }) => text.length))).toBeLessThan(90_000);
      expect(results.filter(({ utteranceComplete }) => utteranceComplete)).toHaveLength(10);
      expect(effects.find(({ type }) => type === 'warning')).toMatchObject({ code: 'overflow' });
    });
  }
});
