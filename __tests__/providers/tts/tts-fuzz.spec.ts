// Slow: 20,000 mutated messages for each wire.
import { catchError, EMPTY, from, of, type Observable } from 'rxjs';
import type { AudioChunk } from '../../../lib/audio/types.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import type { TransportOptions } from '../../../lib/core/remote-provider.ts';
import type { SpokenWord } from '../../../lib/core/roles.ts';
import { GammaTTS } from '../../../lib/providers/tts/gamma-tts.ts';
import { PiTTS } from '../../../lib/providers/tts/pi-tts.ts';
import { PsiTTS } from '../../../lib/providers/tts/psi-tts.ts';
import { RhoTTS } from '../../../lib/providers/tts/rho-tts.ts';
import { SigmaTTS } from '../../../lib/providers/tts/sigma-tts.ts';
import { TauTTS } from '../../../lib/providers/tts/tau-tts.ts';
import { assembleUtterance, type UtteranceEvent } from '../../../lib/providers/tts/utterance.ts';
import type { HttpResponse } from '../../../lib/transport/http.ts';
import { frame, generator, mutate } from '../../conformance/mutations.ts';
import { FakeSockets } from '../../transport/fake-sockets.ts';
import { leastMs } from '../../transport/least-time.ts';
import { settle, TestClock } from '../../transport/test-clock.ts';
import { listenTo, readResponse } from './fixture.ts';

/**
 * Messages of real sessions with anything in them replaced: whatever a service sends, nothing is thrown, and what comes
 * out is well-formed. 20,000 for each wire, in seeded rounds; FUZZ sets the number of rounds.
 */
const rounds = Number(process.env['FUZZ'] ?? 10);
const runs = 2_000;
const slowMs = 100;

type Message = Record<string, unknown>;

class FakedGammaTTS extends GammaTTS {
  readonly sockets: FakeSockets = new FakeSockets({ pings: false });

  protected override get transportOptions(): TransportOptions {
    return { ...super.transportOptions, ...{ openSocket: this.sockets.open } };
  }
}

class FakedPiTTS extends PiTTS {
  readonly sockets: FakeSockets = new FakeSockets({ pings: false });

  protected override get transportOptions(): TransportOptions {
    return { ...super.transportOptions, ...{ openSocket: this.sockets.open } };
  }
}

const audio = 'AQACAAMABAAFAAYABwAIAA==';
const alignment = {
  chars: ['H', 'i', ' ', 'y'],
  charStartTimesMs: [0, 0.1, 0.2, 0.3],
  charDurationsMs: [0.1, 0.1, 0.1, 0.1],
};

const subjects = {
  GammaTTS: {
    make: (scheduler: TestClock) => new FakedGammaTTS({ apiKey: 'a-key', voiceId: 'v', scheduler }),
    session: (contextId: string): readonly Message[] => [
      { audio, contextId, isFinal: null, alignment, normalizedAlignment: alignment },
      { audio, contextId, alignment: null },
      { audio: '', contextId },
      { message: 'm', error: 'input_timeout_exceeded', code: 1008 },
      { isFinal: true, contextId },
    ],
  },
  'GammaTTS in dialogue': {
    make: (scheduler: TestClock) => new FakedGammaTTS({ apiKey: 'a-key', voiceId: 'v', modelId: 'v4', scheduler }),
    session: (context_id: string): readonly Message[] => [
      {
        ...{ audio, context_id, normalized_alignment: null },
        alignment: { chars: ['H', 'i'], char_start_times_ms: [0, 0.1], char_durations_ms: [0.1, 0.1] },
      },
      { is_final_audio_for_turn: true, context_id },
      { message: 'm', error: 'too_many_contexts', code: 1008 },
      { is_final: true, context_id },
    ],
  },
  PiTTS: {
    make: (scheduler: TestClock) => new FakedPiTTS({ apiKey: 'a-key', voiceId: 'v', scheduler }),
    session: (context_id: string): readonly Message[] => [
      {
        ...{ type: 'timestamps', context_id, done: false, status_code: 206 },
        word_timestamps: { words: ['Hi', 'you.'], start: [0, 0.0001], end: [0.0001, 0.0002] },
      },
      { type: 'chunk', context_id, data: audio, done: false, status_code: 206, step_time: 92.1 },
      { type: 'flush_done', context_id, done: false, flush_done: true, flush_id: 1 },
      { type: 'error', context_id, done: true, status_code: 429, error_code: 'concurrency_limited', title: 'x' },
      { type: 'done', context_id, done: true, status_code: 200 },
    ],
  },
};

/** The name of a context, where a message tells it. */
const contextId = /"context_id":"(utt_\d+)"/;

const isChunk = ({ data, utteranceId, timestamp = 0 }: AudioChunk): boolean =>
  data.length > 0 && data.length % 2 === 0 && typeof utteranceId === 'string' && timestamp >= 0;
const isWord = ({ text, startMs, endMs }: SpokenWord): boolean =>
  typeof text === 'string' && text !== '' && Number.isFinite(startMs) && Number.isFinite(endMs);

describe('F11: mutated messages of voices on sockets', () => {
  for (const [name, { make, session }] of Object.entries(subjects)) {
    for (let seed = 1; seed <= rounds; seed++) {
      it(`${name} throws nothing and says nothing malformed (seed ${seed})`, async () => {
        const clock = new TestClock();
        const tts = make(clock);
        const heard = listenTo(tts);
        await tts.initialize();
        await settle();
        tts.sockets.last.accept();
        const random = generator(seed);
        const wrong: unknown[] = [];
        const present = { isSpeaking: false, ended: 0 };
        const speak = (): void => {
          present.isSpeaking = true;
          const over = (): void => {
            present.isSpeaking = false;
            present.ended++;
          };
          tts.speak(of('Hi you.')).subscribe({ error: over, complete: over });
        };
        /** The present context: of the last message that names one; a keep-alive may name none. */
        const id = (): string =>
          contextId.exec(tts.sockets.last.texts.findLast((text) => contextId.test(text)) ?? '')?.[1] ?? '';

        for (let run = 0; run < runs; run++) {
          if (!present.isSpeaking) speak();
          await clock.advance(0);
          const messages = session(id());
          let message: unknown = messages[run % messages.length];
          for (let depth = Math.floor(random() * 3); depth >= 0; depth--) message = mutate(message, random);
          const mutated = frame(message, random);
          const tookMs = leastMs(() => tts.sockets.last.say(mutated), slowMs);
          if (tookMs > slowMs) wrong.push({ run, slow: message });
          if (run % 10 === 9) await clock.advance(600);
        }
        expect([
          wrong,
          heard.chunks.filter((chunk) => !isChunk(chunk)),
          heard.words.filter((word) => !isWord(word)),
        ]).toEqual([[], [], []]);
        expect(heard.errors.length).toBeLessThan(70);
        expect([present.ended > 10, heard.chunks.length > 20, heard.words.length > 10]).toEqual([true, true, true]);
        expect('polluted' in {}).toBe(false);

        // A good session is still understood.
        if (!present.isSpeaking) speak();
        await clock.advance(600);
        heard.chunks.length = 0;
        const before = present.ended;
        for (const message of session(id()).filter((each) => !('error' in each) && each['type'] !== 'error')) {
          tts.sockets.last.say(message);
        }
        expect([present.ended, heard.chunks.length > 0]).toEqual([before + 1, true]);
        const disposed = tts.dispose();
        await clock.advance(1_000);
        await disposed;
        expect(clock.pending).toBe(0);
      });
    }
  }
});

/** Nobody is asked anything. */
const fetch = (): Promise<Response> => Promise.reject(new Error('There is no service'));
const config = { apiKey: 'a-key', voiceId: 'v', voice: 'v', fetch };
const mark = { type: 'word', value: 'Hi', start: 0, end: 2, start_time: 0, end_time: 320 };
const answers = {
  'RhoTTS, streamed': {
    tts: new RhoTTS({ ...config, audioFormat: 'pcm' }),
    messages: [
      { type: 'speech.chunk', audio, speech_marks: [mark, { ...mark, start: 2, end: 4 }] },
      { type: 'speech.chunk', speech_marks: [mark] },
      { type: 'speech.done', billable_characters_count: 12, audio_duration_ms: 1042 },
    ],
  },
  RhoTTS: {
    tts: new RhoTTS({ ...config, audioFormat: 'wav' }),
    messages: [
      {
        ...{ audio_data: audio, audio_format: 'wav', billable_characters_count: 12 },
        speech_marks: { type: 'sentence', value: 'Hi', start: 0, end: 2, chunks: [mark, mark] },
      },
    ],
  },
  SigmaTTS: {
    tts: new SigmaTTS({ ...config, format: 'pcm' }),
    messages: [
      {
        ...{ audioFile: '', encodedAudio: audio, audioLengthInSeconds: 1.04, warning: 'w' },
        wordDurations: [{ word: 'Hi', startMs: 0, endMs: 320 }],
      },
    ],
  },
  'PsiTTS, streamed': {
    tts: new PsiTTS({ apiKey: 'a-key', format: 'pcm', wordTimings: true, fetch }),
    messages: [0, 0, 1].map((chunk_seq) => ({
      ...{ audio_base64: audio, content: 'Hi you.', chunk_seq, chunk_audio_offset_sec: chunk_seq },
      alignment: { audio_duration: 1, segments: [{ text: 'Hi', start: 0, end: 0.4 }] },
    })),
  },
  TauTTS: {
    tts: new TauTTS({ ...config, format: 'pcm_s16le', wordTimings: true }),
    messages: [
      {
        audio,
        timestamps: [
          { text: 'Hi', start: 0, duration: 0.32 },
          { text: ' ', start: 0.32, duration: 0.1 },
        ],
      },
    ],
  },
};

const isEvent = (event: UtteranceEvent): boolean =>
  event.type === 'chunk' ? isChunk(event.chunk) : isWord(event.word);

describe('F11: mutated answers of voices by requests', () => {
  for (const [name, { tts, messages }] of Object.entries(answers)) {
    beforeAll(() => tts.initialize());
    afterAll(() => tts.dispose());
    for (let seed = 1; seed <= rounds; seed++) {
      it(`${name} gives well-formed events, or an error of its own (seed ${seed})`, () => {
        const random = generator(seed);
        const wrong: unknown[] = [];
        const counts = { events: 0, errors: 0 };
        for (let run = 0; run < runs; run++) {
          const parts = messages.map((message) => {
            let mutated: unknown = message;
            for (let depth = Math.floor(random() * 3); depth > 0; depth--) mutated = mutate(mutated, random);
            const part = frame(mutated, random);
            const text = typeof part === 'string' ? part : new TextDecoder().decode(part);
            return new TextEncoder().encode(name.includes('streamed') ? `event: x\ndata: ${text}\n\n` : text);
          });
          const response: HttpResponse = {
            ...{ provider: tts.name, status: 200, body$: from(parts) },
            headers: { 'content-type': name.includes('streamed') ? 'text/event-stream' : 'application/json' },
          };
          const events: UtteranceEvent[] = [];
          const utterance = { utteranceId: 'u', format: tts.getMetadata(), text: () => 'Hi you.' };
          const failed = (error: unknown): Observable<never> => {
            counts.errors++;
            if (!VoiceError.is(error) || error.provider !== tts.name) wrong.push({ run, error });
            return EMPTY;
          };
          try {
            readResponse(tts, response)
              .pipe(assembleUtterance({ provider: tts.name, ...utterance }), catchError(failed))
              .subscribe((event) => events.push(event));
          } catch (error) {
            wrong.push({ run, thrown: error });
          }
          counts.events += events.length;
          if (!events.every(isEvent)) wrong.push({ run, events });
        }
        expect(wrong).toEqual([]);
        expect([counts.events > 500, counts.errors > 25]).toEqual([true, true]);
        expect('polluted' in {}).toBe(false);
      });
    }
  }
});
