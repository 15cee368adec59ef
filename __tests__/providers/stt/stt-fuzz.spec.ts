// Slow: thousands of mutated messages for each wire.
import type { TranscriptionResult } from '../../../lib/core/roles.ts';
import { AlphaFlux } from '../../../lib/providers/stt/alpha-flux.ts';
import { AlphaSTT } from '../../../lib/providers/stt/alpha-stt.ts';
import { BetaSTT } from '../../../lib/providers/stt/beta-stt.ts';
import { DeltaSTT } from '../../../lib/providers/stt/delta-stt.ts';
import { EtaSTT } from '../../../lib/providers/stt/eta-stt.ts';
import { GammaSTT } from '../../../lib/providers/stt/gamma-stt.ts';
import { KappaSTT } from '../../../lib/providers/stt/kappa-stt.ts';
import { LambdaSTT } from '../../../lib/providers/stt/lambda-stt.ts';
import { ThetaRealtimeSTT } from '../../../lib/providers/stt/theta-realtime-stt.ts';
import type { SocketData } from '../../../lib/transport/reconnecting-socket.ts';
import { encodeEventStream } from '../../../lib/transport/aws-event-stream.ts';
import { frame, generator, mutate } from '../../conformance/mutations.ts';
import { ZetaSTT } from '../../../lib/providers/stt/zeta-stt.ts';
import { serve, until, type Site } from '../../transport/http-fixture.ts';
import { leastMs } from '../../transport/least-time.ts';
import { clocked, faked, FakedEpsilonSTT, record, settle, tape } from './stt-fixture.ts';

/**
 * Messages of real sessions with anything in them replaced: whatever a service sends, nothing is thrown, and what
 * comes out is well-formed. 20,000 for each wire, in seeded rounds; FUZZ sets the number of rounds.
 */
const rounds = Number(process.env['FUZZ'] ?? 10);
const runs = 2_000;
const slowMs = 100;

const words = [
  { word: 'hi', punctuated_word: 'Hi', start: 0.1, end: 0.4, confidence: 0.9, speaker: 0 },
  { word: 'there', punctuated_word: 'there.', start: 0.5, end: 0.9, confidence: 0.9 },
];
const result = (is_final: boolean, speech_final: boolean, start: number): unknown => ({
  ...{ type: 'Results', channel_index: [0, 1], duration: 1, start, is_final, speech_final, from_finalize: false },
  channel: { alternatives: [{ transcript: 'Hi there.', confidence: 0.9, words, languages: ['en'] }] },
});
const info = (event: string, turn_index: number): unknown => ({
  ...{ type: 'TurnInfo', sequence_id: 1, event, turn_index, audio_window_start: 0, audio_window_end: 1 },
  ...{ transcript: 'Hi there.', words, end_of_turn_confidence: 0.5, languages: ['en'], trigger: 'model' },
});
const transcript = (id: string, is_final: boolean): unknown => ({
  ...{ type: 'transcript', session_id: 's', created_at: 'c', error: null },
  data: { id, is_final, utterance: { text: ' Hi', start: 0.1, end: 0.9, language: 'en', confidence: 0.9, words } },
});

const turn = (end_of_turn: boolean, turn_order: number): unknown => ({
  ...{ type: 'Turn', turn_order, turn_is_formatted: end_of_turn, end_of_turn, transcript: 'Hi there.', utterance: '' },
  ...{ end_of_turn_confidence: 1, speaker_label: 'A', language_code: 'en', language_confidence: 0.9 },
  words: [{ start: 100, end: 400, text: 'Hi', confidence: 0.9, word_is_final: true, speaker: 'A' }],
});

const heard = (IsPartial: boolean, ResultId: string): unknown => ({
  headers: { ':message-type': 'event', ':event-type': 'TranscriptEvent', ':content-type': 'application/json' },
  body: {
    Transcript: {
      Results: [
        {
          ...{ ResultId, StartTime: 0.1, EndTime: 0.9, IsPartial, ChannelId: 'ch_0', LanguageCode: 'en-US' },
          Alternatives: [
            {
              Transcript: 'Hi there.',
              Items: words.map(({ word, start, end }) => ({
                ...{ StartTime: start, EndTime: end, Type: 'pronunciation', Content: word, Confidence: 0.98 },
                ...{ VocabularyFilterMatch: false, Speaker: '0', Stable: true },
              })),
            },
          ],
        },
      ],
    },
  },
});

const sessions: Readonly<Record<string, readonly unknown[]>> = {
  AlphaSTT: [
    ...[{ type: 'SpeechStarted', channel: [0, 1], timestamp: 0.4 }, result(false, false, 0), result(true, false, 0)],
    ...[result(true, true, 1), { type: 'UtteranceEnd', channel: [0, 1], last_word_end: 1 }, { type: 'Metadata' }],
  ],
  AlphaFlux: [
    ...['Update', 'StartOfTurn', 'Update', 'EagerEndOfTurn', 'TurnResumed', 'EndOfTurn'].map((event) => info(event, 0)),
    ...[info('StartOfTurn', 1), { type: 'ConfigureSuccess' }, { type: 'ConfigureFailure', code: 'X' }],
    { type: 'Warning', code: 'FORCE_END_TURN_NO_ACTIVE_TURN', description: '' },
  ],
  BetaSTT: [
    ...[{ type: 'SpeechStarted', timestamp: 1_216, confidence: 0.9 }, turn(false, 0), turn(true, 0), turn(false, 1)],
    ...[
      { type: 'Warning', warning_code: 1, warning: 'w' },
      { type: 'Termination', audio_duration_seconds: 13 },
    ],
  ],
  GammaSTT: [
    ...['partial_transcript', 'final_transcript', 'committed_transcript'].map((message_type) => ({
      ...{ message_type, text: 'Hi there.' },
    })),
    {
      ...{ message_type: 'committed_transcript_with_timestamps', text: 'Hi there.', language_code: 'en' },
      words: [{ text: 'Hi', start: 0.1, end: 0.4, type: 'word', logprob: -0.1, speaker_id: 's' }],
    },
    { message_type: 'warning', warning: 'w' },
  ],
  EtaSTT: [
    { type: 'partial', ts: 0.1, end_ts: 0.5, elements: [{ type: 'text', value: 'hi' }] },
    {
      ...{ type: 'final', ts: 0.1, end_ts: 0.9, speaker_id: 0 },
      elements: [
        { type: 'text', value: 'Hi', ts: 0.1, end_ts: 0.4, confidence: 0.9 },
        { type: 'punct', value: ' ' },
        { type: 'text', value: 'there', ts: 0.5, end_ts: 0.9, confidence: 0.8 },
        { type: 'punct', value: '.' },
      ],
    },
  ],
  ThetaRealtimeSTT: [
    { type: 'input_audio_buffer.speech_started', event_id: 'e', audio_start_ms: 100, item_id: 'a' },
    { type: 'input_audio_buffer.speech_stopped', event_id: 'e', audio_end_ms: 900, item_id: 'a' },
    { type: 'input_audio_buffer.committed', event_id: 'e', previous_item_id: null, item_id: 'a' },
    { type: 'conversation.item.input_audio_transcription.delta', item_id: 'a', content_index: 0, delta: 'Hi' },
    {
      ...{ type: 'conversation.item.input_audio_transcription.completed', item_id: 'a', transcript: 'Hi there.' },
      ...{ logprobs: [{ token: 'Hi', logprob: -0.1, bytes: [72] }], languages: [{ code: 'en' }] },
    },
  ],
  KappaSTT: [
    ...[
      { path: 'turn.start', body: { context: { serviceTag: 't' } } },
      { path: 'speech.startDetected', body: { Offset: 1_000_000 } },
      { path: 'speech.hypothesis', body: { Text: 'hi there', Offset: 1_000_000, Duration: 4_200_000 } },
    ],
    {
      path: 'speech.phrase',
      body: {
        ...{ RecognitionStatus: 'Success', Offset: 1_000_000, Duration: 3_000_000, SpeakerId: 'Guest-1' },
        ...{ DisplayText: 'Hi there.', PrimaryLanguage: { Language: 'en-US', Confidence: 'High' } },
        NBest: [{ Confidence: 0.9, Display: 'Hi there.', Words: [{ Word: 'hi', Offset: 1_000_000, Duration: 9_000 }] }],
      },
    },
    { path: 'speech.endDetected', body: { Offset: 4_000_000 } },
  ],
  LambdaSTT: [
    { headers: { ':message-type': 'event', ':event-type': 'TranscriptEvent' }, body: { Transcript: { Results: [] } } },
    ...[heard(true, '1'), heard(false, '1'), heard(true, '2'), heard(false, '2')],
  ],
  DeltaSTT: [
    ...[['Hi'], ['*Hi', ' th'], ['* there', '.'], ['*.', '*<end>', ' And']].map((tokens) => ({
      tokens: tokens.map((text) => ({
        ...{ text: text.replace('*', ''), is_final: text.startsWith('*'), start_ms: 100, end_ms: 200 },
        ...{ confidence: 0.9, speaker: '1', language: 'en' },
      })),
      ...{ final_audio_proc_ms: 100, total_audio_proc_ms: 200 },
    })),
    { tokens: [], final_audio_proc_ms: 300, total_audio_proc_ms: 300, finished: true },
  ],
  ZetaSTT: [
    ...['AddPartialTranscript', 'AddTranscript'].map((message) => ({
      ...{ message, format: '2.9', metadata: { start_time: 0.1, end_time: 0.4, transcript: 'Hi' } },
      results: [
        {
          type: 'word',
          start_time: 0.1,
          end_time: 0.4,
          alternatives: [{ content: 'Hi', confidence: 1, speaker: 'S1' }],
        },
        {
          type: 'punctuation',
          start_time: 0.4,
          end_time: 0.4,
          attaches_to: 'previous',
          alternatives: [{ content: '.' }],
        },
      ],
    })),
    ...[{ message: 'EndOfUtterance', metadata: {} }, { message: 'AudioAdded', seq_no: 1 }, { message: 'Info' }],
    ...[{ message: 'Warning', type: 'idle_timeout' }, { message: 'EndOfTranscript' }],
  ],
  EpsilonSTT: [
    ...[{ type: 'start_recording' }, { type: 'audio_chunk', error: null, data: { byte_range: [0, 3_200] } }],
    ...[{ type: 'speech_start', data: { time: 0.4 } }, transcript('1', false), transcript('1', true)],
    ...[
      { type: 'speech_end', data: { time: 1 } },
      { type: 'end_recording', data: { recording_duration: 1 } },
    ],
  ],
};

/** What makes a provider ready, where it is not the open connection. */
const greetings: Readonly<Record<string, Record<string, unknown>>> = {
  AlphaFlux: { type: 'Connected' },
  BetaSTT: { type: 'Begin', id: 'b' },
  GammaSTT: { message_type: 'session_started' },
  EtaSTT: { type: 'connected', id: 'j' },
  ThetaRealtimeSTT: { type: 'session.updated' },
  ZetaSTT: { message: 'RecognitionStarted' },
};

/** How a message is wrapped, where it is no JSON: the frame of what is left of its headers and its body. */
const wraps: Readonly<Record<string, (data: SocketData) => SocketData>> = {
  KappaSTT(data) {
    const found = typeof data === 'string' ? /^\{"path":"([^"]*)","body":(.*)\}$/.exec(data) : undefined;
    return found ? `Path:${found[1] ?? ''}\r\nX-RequestId:\r\n\r\n${found[2] ?? ''}` : data;
  },
  LambdaSTT(data) {
    if (typeof data !== 'string') return data;
    let message: unknown;
    try {
      message = JSON.parse(data);
    } catch {
      return data;
    }
    const { headers, body } = Object(message) as { readonly headers?: unknown; readonly body?: unknown };
    const texts = Object.entries(Object(headers) as object).flatMap(([name, value]) =>
      name && typeof value === 'string' ? [[name, { type: 'string' as const, value }] as const] : [],
    );
    const payload = new TextEncoder().encode(body === undefined ? '' : JSON.stringify(body));
    return encodeEventStream({ headers: new Map(texts), payload });
  },
};

/** Services whose binary frames have a form of their own. */
const ownFrames = new Set(['KappaSTT']);

/** What every result must be, whatever it was made of. */
function isWellFormed({ text, confidence, metadata = {}, utteranceId, ...flags }: TranscriptionResult): boolean {
  const times = (metadata.words ?? []).flatMap(({ startMs = 0, endMs = 0 }) => [startMs, endMs]);
  return (
    typeof text === 'string' &&
    typeof utteranceId === 'string' &&
    [flags.isFinal, flags.utteranceComplete, flags.isPreflight].every((flag) => typeof flag === 'boolean') &&
    (confidence === undefined || Number.isFinite(confidence)) &&
    times.every(Number.isFinite) &&
    (metadata.words ?? []).every((word) => typeof word.text === 'string' && word.text !== '')
  );
}

describe('Whatever a service sends, or does not', () => {
  let site: Site;
  beforeAll(async () => {
    site = await serve((response) => {
      response.writeHead(201, { 'Content-Type': 'application/json' });
      response.end('{"url":"wss://live.example/v2/live?token=t"}');
    });
  });
  afterAll(() => site.close());

  const makers = {
    AlphaSTT: (config: object) => faked(new AlphaSTT(config)),
    AlphaFlux: (config: object) => faked(new AlphaFlux(config)),
    BetaSTT: (config: object) => faked(new BetaSTT(config)),
    GammaSTT: (config: object) => faked(new GammaSTT(config)),
    EtaSTT: (config: object) => faked(new EtaSTT(config)),
    ThetaRealtimeSTT: (config: object) => faked(new ThetaRealtimeSTT(config)),
    KappaSTT: (config: object) => faked(new KappaSTT({ ...config, region: 'westeurope' })),
    LambdaSTT: (config: object) => {
      const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'canary-7f3a' };
      return faked(new LambdaSTT({ ...config, region: 'us-east-1', credentials }));
    },
    DeltaSTT: (config: object) => faked(new DeltaSTT(config)),
    ZetaSTT: (config: object) => faked(new ZetaSTT(config)),
    EpsilonSTT: (config: object) => new FakedEpsilonSTT({ ...config, endpoint: site.url }),
  };

  for (const [name, make] of Object.entries(makers)) {
    const messages = sessions[name] ?? [];
    const wrap = wraps[name] ?? ((data: SocketData) => data);

    /** A provider that is connected, and how it connects again. */
    const given = async () => {
      const { clock, config } = clocked();
      const stt = make(config);
      const connect = async (): Promise<void> => {
        const before = stt.sockets.all.length;
        const opened = stt.connect();
        await until(() => stt.sockets.all.length > before);
        stt.sockets.last.accept();
        const greeting = greetings[name];
        if (greeting) stt.sockets.last.say(greeting);
        await opened;
        stt.sendAudio({ data: tape(500) });
      };
      await stt.initialize();
      await connect();
      return { clock, stt, connect, ...record(stt) };
    };

    it(`${name} reads messages in binary frames, or leaves them out (F12)`, async () => {
      const { stt, results, errors } = await given();
      for (const message of messages) {
        const data = wrap(JSON.stringify(message));
        stt.sockets.last.say(typeof data === 'string' ? new TextEncoder().encode(data) : data);
      }
      await settle();
      const isHeard = results.some(({ utteranceComplete, text }) => utteranceComplete && text.startsWith('Hi'));
      expect([isHeard, errors.filter(({ recoverable }) => !recoverable)]).toEqual([!ownFrames.has(name), []]);
    });

    it(`${name} replaces a connection whose service vanished silently (F8)`, async () => {
      const { clock, stt, events } = await given();
      const [first, lost] = [stt.sockets.last, () => events.find(({ type }) => type === 'reconnecting')];
      for (let ms = 0; ms < 60_000 && !lost(); ms += 1_000) await clock.advance(1_000);
      const message: unknown = expect.stringContaining('keep-alives');
      expect(lost()).toMatchObject({ error: { code: 'connection', recoverable: true, message } });
      expect(first.terminated).toBe(true);
      const disposed = stt.dispose();
      await clock.advance(2_000);
      await disposed;
      expect(clock.pending).toBe(0);
    });

    for (let seed = 1; seed <= rounds; seed++) {
      it(`${name} throws nothing and says nothing malformed (seed ${seed})`, async () => {
        const { clock, stt, connect, results, errors } = await given();
        const random = generator(seed);
        const wrong: unknown[] = [];
        for (let run = 0; run < runs; run++) {
          results.length = 0;
          let message = messages[run % messages.length];
          for (let depth = Math.floor(random() * 3); depth >= 0; depth--) message = mutate(message, random);
          const mutated = wrap(frame(message, random));
          const tookMs = leastMs(() => stt.sockets.last.say(mutated), slowMs);
          if (tookMs > slowMs) wrong.push({ run, slow: message });
          if (!results.every(isWellFormed)) wrong.push({ run, message, results: [...results] });
        }
        expect(wrong).toEqual([]);
        expect(errors.every(({ recoverable }) => recoverable)).toBe(true);
        expect(errors.length).toBeLessThan(70);
        expect('polluted' in {}).toBe(false);

        // A good session is still understood.
        const disposed = stt.dispose();
        await clock.advance(200);
        await disposed;
        await stt.initialize();
        await connect();
        results.length = 0;
        for (const message of messages) stt.sockets.last.say(wrap(JSON.stringify(message)));
        await settle();
        expect(results.some(({ utteranceComplete, text }) => utteranceComplete && text.startsWith('Hi'))).toBe(true);
      });
    }
  }
});
