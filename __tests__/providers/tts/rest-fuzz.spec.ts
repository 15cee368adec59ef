// Slow: thousands of mutated answers for each voice.
import { from } from 'rxjs';
import { VoiceError } from '../../../lib/core/errors.ts';
import { ChiTTS } from '../../../lib/providers/tts/chi-tts.ts';
import { IotaTTS } from '../../../lib/providers/tts/iota-tts.ts';
import { marksIn, wordsAt } from '../../../lib/providers/tts/words/speech-marks.ts';
import type { SynthesisEvent } from '../../../lib/providers/tts/utterance.ts';
import type { RemoteVoice } from '../../../lib/providers/tts/voice-service.ts';
import { frame, generator, mutate } from '../../conformance/mutations.ts';
import { leastMs } from '../../transport/least-time.ts';
import { readResponse } from './fixture.ts';

/**
 * Answers of real requests with anything in them replaced, in pieces: whatever a service sends, nothing but a VoiceError
 * is thrown, and what comes out is well-formed. 20,000 for each wire, in seeded rounds; FUZZ sets the number of rounds.
 */
const rounds = Number(process.env['FUZZ'] ?? 10);
const runs = 2_000;
const slowMs = 100;

const base_resp = { status_code: 0, status_msg: 'success' };
const extra_info = { audio_length: 40, audio_sample_rate: 32000, audio_format: 'pcm', audio_channel: 1 };
const event = (text: string | Uint8Array): string | Uint8Array =>
  typeof text === 'string' ? `data: ${text}\n\n` : text;
const asIs = (text: string | Uint8Array): string | Uint8Array => text;

interface Subject {
  readonly provider: () => RemoteVoice;
  readonly contentType: string;
  readonly session: readonly unknown[];
  readonly wrap: (text: string | Uint8Array) => string | Uint8Array;
  /** The audio of the session as it is. */
  readonly audio: readonly number[];
}

/** Nobody is asked anything. */
const fetch = (): Promise<Response> => Promise.reject(new Error('There is no service'));

const subjects: Readonly<Record<string, Subject>> = {
  'ChiTTS in events': {
    provider: () => new ChiTTS({ apiKey: 'a-key', voiceId: 'v', audioFormat: 'pcm', fetch }),
    contentType: 'text/event-stream',
    session: [
      { data: { audio: '0102', status: 1 }, trace_id: 't', base_resp },
      { data: { audio: '0304', status: 1 }, trace_id: 't', base_resp },
      { data: { audio: '', status: 2, subtitle_file: 'https://x.example/s' }, extra_info, trace_id: 't', base_resp },
    ],
    ...{ wrap: event, audio: [1, 2, 3, 4] },
  },
  'ChiTTS in one piece': {
    provider: () => new ChiTTS({ apiKey: 'a-key', voiceId: 'v', audioFormat: 'wav', fetch }),
    contentType: 'application/json',
    session: [{ data: { audio: '01020304', status: 2 }, extra_info, trace_id: 't', base_resp }],
    ...{ wrap: asIs, audio: [1, 2, 3, 4] },
  },
  IotaTTS: {
    provider: () => new IotaTTS({ apiKey: 'a-key', fetch }),
    contentType: 'application/json; charset=UTF-8',
    session: [{ audioContent: 'AQIDBA==' }],
    ...{ wrap: asIs, audio: [1, 2, 3, 4] },
  },
};

/** What an answer gives, in pieces. */
function read({ contentType }: Subject, tts: RemoteVoice, body: readonly (string | Uint8Array)[], pieceLength: number) {
  const bytes = Buffer.concat(body.map((part) => Buffer.from(part as string)));
  const pieces = Array.from(
    { length: Math.ceil(bytes.length / pieceLength) },
    (_, at) => new Uint8Array(bytes.subarray(at * pieceLength, (at + 1) * pieceLength)),
  );
  const headers = { 'content-type': contentType };
  const events: SynthesisEvent[] = [];
  const outcome: { events: SynthesisEvent[]; error?: unknown; done: boolean } = { events, done: false };
  readResponse(tts, { provider: 'FuzzTTS', status: 200, headers, body$: from(pieces) }).subscribe({
    next: (each) => events.push(each),
    error: (error: unknown) => Object.assign(outcome, { error, done: true }),
    complete: () => (outcome.done = true),
  });
  return outcome;
}

const isWellFormed = (event: SynthesisEvent): boolean =>
  event.type === 'audio' && event.data instanceof Uint8Array && event.data.length > 0;

describe('F11: mutated answers of voices by requests', () => {
  for (const [name, subject] of Object.entries(subjects)) {
    const tts = subject.provider();
    beforeAll(() => tts.initialize());
    afterAll(() => tts.dispose());
    for (let seed = 1; seed <= rounds; seed++) {
      it(`${name} fails with a VoiceError or not at all (seed ${seed})`, () => {
        const random = generator(seed);
        const wrong: unknown[] = [];
        for (let run = 0; run < runs; run++) {
          const at = Math.floor(random() * subject.session.length);
          const body = subject.session.map((message, index) =>
            subject.wrap(frame(index === at ? mutate(message, random) : message, random)),
          );
          const size = 1 + Math.floor(random() * 64);
          const check = (): void => {
            const { events, error, done } = read(subject, tts, body, size);
            if (!done || !events.every(isWellFormed)) wrong.push({ run, body, events, done });
            if (error !== undefined && !VoiceError.is(error)) wrong.push({ run, body, error });
          };
          try {
            if (leastMs(check, slowMs) > slowMs) wrong.push({ run, slow: body });
          } catch (error) {
            wrong.push({ run, body, thrown: error });
          }
        }
        expect(wrong).toEqual([]);
        expect('polluted' in {}).toBe(false);
        // A good answer is still understood, byte by byte.
        const { events } = read(
          subject,
          tts,
          subject.session.map((message) => subject.wrap(JSON.stringify(message))),
          1,
        );
        expect(events.flatMap((each) => (each.type === 'audio' ? [...each.data] : []))).toEqual(subject.audio);
      });
    }
  }

  for (let seed = 1; seed <= rounds; seed++) {
    it(`OmegaTTS’s marks of words are well-formed or left out (seed ${seed})`, () => {
      const random = generator(seed);
      const session = [
        { time: 6, type: 'word', start: 0, end: 4, value: 'Mary' },
        { time: 373, type: 'word', start: 5, end: 8, value: 'had' },
        { time: 604, type: 'word', start: 9, end: 10, value: 'a' },
      ];
      for (let run = 0; run < runs; run++) {
        const at = Math.floor(random() * session.length);
        const lines = session.map((mark, index) => frame(index === at ? mutate(mark, random) : mark, random));
        const text = lines.map((line) => (typeof line === 'string' ? line : new TextDecoder().decode(line))).join('\n');
        const words = wordsAt(marksIn(text), 'Mary had a little lamb.', 700);
        expect(
          words.every((word) => word.text !== '' && Number.isFinite(word.startMs) && Number.isFinite(word.endMs)),
        ).toBe(true);
      }
    });
  }
});
