import { filter } from 'rxjs';
import { encodeSamples } from '../../lib/audio/samples.ts';
import type { AudioChunk, AudioMetadata } from '../../lib/audio/types.ts';
import type { SpeechEvent, TranscriptionResult } from '../../lib/core/roles.ts';
import type { StreamingSTT, StreamingSTTConfig } from '../../lib/providers/stt/streaming-stt.ts';
import {
  startSandbox,
  type Fault,
  type Sandbox,
  type ServiceName,
  type VendorName,
} from '../../samples/sandbox/index.ts';
import { encodeText } from '../../samples/sandbox/modem.ts';
import { until } from '../transport/http-fixture.ts';

type Stt = StreamingSTT<StreamingSTTConfig>;

/** A provider that transcribes channels apart, and where its service drops connections in the middle of words. */
export interface ChannelsSubject {
  readonly name: string;
  readonly vendor: VendorName;
  readonly service: ServiceName;
  readonly create: (config: StreamingSTTConfig) => Stt;
  readonly drop: Fault;
}

const stereo: AudioMetadata = { encoding: 'linear16', sampleRate: 16_000, channels: 2, bitDepth: 16 };

/** Speech and pauses (milliseconds) of a channel. */
type Part = string | number;

/** Two who talk at once, and on their own: the second speaks while the first does, and on. */
const parts: readonly (readonly Part[])[] = [
  ['one apple and two pears', 2_500, 'seven plums', 2_000],
  [700, 'three figs for the four of us', 3_500, 'no', 2_000],
];
const said = parts.map((each) => each.filter((part) => typeof part === 'string'));

/** A line is never quite silent. */
const noisy = (sample: number, at: number): number => (sample === 0 ? at % 3 : sample);

/** Their voices, interleaved, in frames of 20 ms. */
function frames(): AudioChunk[] {
  const { sampleRate } = stereo;
  const voices = parts.map((each) =>
    each.flatMap((part) => [
      ...(typeof part === 'string' ? encodeText(part, sampleRate) : new Int16Array((part * sampleRate) / 1_000)),
    ]),
  );
  const length = Math.max(...voices.map((voice) => voice.length));
  const samples = Int16Array.from({ length: length * 2 }, (_, at) => noisy(voices[at % 2]?.[at >> 1] ?? 0, at));
  const size = sampleRate / 50;
  return Array.from({ length: Math.ceil(length / size) }, (_, frame) => ({
    data: encodeSamples(samples.slice(frame * size * 2, (frame + 1) * size * 2), 'linear16'),
    metadata: stereo,
  }));
}

/** What every provider does that transcribes channels apart, over real sockets. */
export function describeChannels(subject: ChannelsSubject): void {
  describe(`${subject.name}: two channels`, () => {
    let sandbox: Sandbox;
    beforeAll(async () => {
      sandbox = await startSandbox();
    });
    afterEach(() => sandbox.clearFaults());
    afterAll(() => sandbox.close());

    const heard = async (): Promise<{
      results: TranscriptionResult[];
      speech: SpeechEvent['type'][];
      lost: number;
    }> => {
      const endpoint = sandbox.endpoints[subject.vendor];
      const reconnect = { initialMs: 1, quickFailures: { count: 99, withinMs: 0 } };
      const stt = subject.create({ apiKey: 'sandbox-key', endpoint, catchUpSpeed: false, reconnect });
      const results: TranscriptionResult[] = [];
      const speech: SpeechEvent['type'][] = [];
      let lost = 0;
      stt.transcripts$.subscribe((result) => results.push(result));
      stt.speech$.subscribe(({ type }) => speech.push(type));
      stt.connection$.pipe(filter(({ type }) => type === 'reconnecting')).subscribe(() => (lost += 1));
      await stt.initialize();
      stt.configureAudio(stereo);
      await stt.connect();
      for (const chunk of frames()) {
        stt.sendAudio(chunk);
        // As it comes from a line, but faster: other things happen between two frames.
        await new Promise((resolve) => setImmediate(resolve));
      }
      const count = said.flat().length;
      await until(() => results.filter(({ utteranceComplete }) => utteranceComplete).length >= count);
      await stt.disconnect();
      await stt.dispose();
      return { results, speech, lost };
    };
    const complete = (results: readonly TranscriptionResult[], channel: number): string[] =>
      results.flatMap(({ utteranceComplete, text, metadata }) =>
        utteranceComplete && metadata?.channel === channel ? [plain(text)] : [],
      );

    it('keeps the utterances of two who talk at once apart, and names their channel', async () => {
      const { results } = await heard();
      expect([0, 1].map((channel) => complete(results, channel))).toEqual(said);
      expect(results.map(({ metadata }) => metadata?.channel).every((channel) => channel === 0 || channel === 1)).toBe(
        true,
      );
      // Of one utterance, all results are of one channel.
      const channels = new Map(results.map(({ utteranceId, metadata }) => [utteranceId, metadata?.channel]));
      expect(results.every(({ utteranceId, metadata }) => channels.get(utteranceId) === metadata?.channel)).toBe(true);
      expect(new Set(channels.keys()).size).toBe(4);
      // The second one's words come before the first one's last.
      const order = results.map(({ metadata }) => metadata?.channel);
      expect(order.indexOf(1)).toBeLessThan(order.indexOf(0, order.indexOf(1)));
    });

    it('a voice starts with the first who speaks, and ends with the last', async () => {
      const { speech } = await heard();
      expect(speech.filter((type, at) => type === (at % 2 === 0 ? 'started' : 'ended'))).toEqual(speech);
      expect(speech.at(-1)).toBe('ended');
    });

    it('F7: loses and repeats no word of either when connections drop in the middle of words', async () => {
      sandbox.setFault(subject.service, subject.drop);
      const { results, lost } = await heard();
      expect([0, 1].map((channel) => complete(results, channel))).toEqual(said);
      expect(lost).toBeGreaterThan(0);
    });
  });
}

/** A text as all services write it. */
const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9 ]/g, '');
