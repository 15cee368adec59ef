/** Voices over a socket take what a model writes token by token, and each piece that they send ends with a word. */
import { AlphaTTS, GammaTTS, PiTTS } from '../../../lib/index.ts';
import type { RemoteVoice, TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import {
  sentJson,
  startSandbox,
  type Sandbox,
  type ServiceName,
  type VendorName,
} from '../../../samples/sandbox/index.ts';

/** All that run over a socket, and the field of their messages that has the text. */
const voices: readonly (readonly [
  ServiceName,
  VendorName,
  field: string,
  create: (config: TTSConfig) => RemoteVoice,
])[] = [
  ['alpha-tts', 'alpha', 'text', (config) => new AlphaTTS(config)],
  ['gamma-tts', 'gamma', 'text', (config) => new GammaTTS({ ...config, voiceId: '21m00Tcm4TlvDq8ikWAM' })],
  ['pi-tts', 'pi', 'transcript', (config) => new PiTTS({ ...config, voiceId: '694f9389-aac1-45b6-b726-9d9369183238' })],
];

const tokens = ['Un', 'believ', 'able', ' as', ' it', ' is', ',', ' at', ' 3', '.', '14', ' wor', 'ks'];
const text = 'Unbelievable as it is, at 3.14 works';

describe('processChunk()', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  for (const [service, vendor, field, create] of voices) {
    it(`breaks no word when ${service} is fed the tokens of a model`, async () => {
      const tts = create({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints[vendor] });
      await tts.initialize();
      for (const token of tokens) tts.processChunk(token);
      await tts.finalize();
      await tts.dispose();
      const pieces = sandbox
        .records(service)
        .flatMap(sentJson)
        .map((message) => Reflect.get(message as object, field) as unknown)
        .filter((piece): piece is string => typeof piece === 'string' && piece.trim() !== '');
      // Each piece is of whole words: in its own right, too, it is part of the text.
      const words = pieces.flatMap((piece) => piece.trim().split(/\s+/));
      expect(words.join(' ').replaceAll(' ,', ',')).toBe(text);
      expect(tts.type).toBe('websocket');
    });
  }
});
