/** A vendor's support asks for one thing first: the id of the request. Voices have it on their audio and errors. */
import { lastValueFrom, toArray } from 'rxjs';
import type { AudioChunk } from '../../../lib/audio/types.ts';
import { VoiceError } from '../../../lib/core/errors.ts';
import { AlphaTTS, ChiTTS, OmegaTTS, PiTTS, RhoTTS, TauTTS, ThetaTTS, UpsilonTTS } from '../../../lib/index.ts';
import type { RemoteVoice, TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { startSandbox, type Sandbox, type ServiceName, type VendorName } from '../../../samples/sandbox/index.ts';

const omega = {
  ...{ voiceId: 'Joanna', region: 'eu-west-1' },
  credentials: { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'sandbox-key' },
};

/** Those whose vendor documents an id, and the header that has it. */
const voices: readonly (readonly [
  ServiceName,
  VendorName,
  header: string,
  create: (config: TTSConfig) => RemoteVoice,
])[] = [
  ['chi-tts', 'chi', 'trace-id', (config) => new ChiTTS({ ...config, voiceId: 'English_expressive_narrator' })],
  ['rho-tts', 'rho', 'x-request-id', (config) => new RhoTTS({ ...config, voiceId: 'geffen_32' })],
  ['tau-tts', 'tau', 'request-id', (config) => new TauTTS({ ...config, voice: 'leah' })],
  ['theta-tts', 'theta', 'x-request-id', (config) => new ThetaTTS(config)],
  ['upsilon-tts', 'upsilon', 'x-request-id', (config) => new UpsilonTTS({ ...config, voiceId: 'magnus' })],
];

describe("the vendor's request id", () => {
  let sandbox: Sandbox;
  const opened: RemoteVoice[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((tts) => tts.dispose()));
    sandbox.clearFaults();
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  const ready = async (tts: RemoteVoice): Promise<RemoteVoice> => {
    opened.push(tts);
    await tts.initialize();
    return tts;
  };
  const speak = (tts: RemoteVoice, text: readonly string[]): Promise<AudioChunk[]> =>
    lastValueFrom(tts.speak(text).pipe(toArray()));
  const failureOf = async (promise: Promise<unknown>): Promise<VoiceError> => {
    const error: unknown = await promise.then(
      () => undefined,
      (cause: unknown) => cause,
    );
    if (VoiceError.is(error)) return error;
    throw new Error('it did not fail');
  };

  for (const [service, vendor, header, create] of voices) {
    describe(service, () => {
      const ids: (string | undefined)[] = [];
      const open = (): Promise<RemoteVoice> => {
        ids.length = 0;
        const endpoint = sandbox.endpoints[vendor];
        const noting: typeof fetch = async (...request) => {
          const response = await fetch(...request);
          ids.push(response.headers.get(header) ?? undefined);
          return response;
        };
        return ready(create({ apiKey: 'sandbox-key', endpoint, fetch: noting }));
      };

      it('is on the audio that each request of an utterance gives', async () => {
        const chunks = await speak(await open(), ['Hello there.', 'Good night.']);
        expect([...new Set(chunks.map(({ requestId }) => requestId))]).toEqual([...new Set(ids)]);
        expect(ids[0]).toMatch(/./);
      });

      // Upsilon's docs tell of none there.
      if (service !== 'upsilon-tts')
        it('is on the error of a refused request', async () => {
          const tts = await open();
          tts.updateConfig({ apiKey: 'wrong' });
          const error = await failureOf(speak(tts, ['Hello.']));
          expect(error.code).toBe('unauthorized');
          expect(error.requestId).toMatch(/./);
        });

      it('is on the error of an answer that breaks off', async () => {
        const tts = await open();
        sandbox.setFault(service, { kind: 'dropAfter', messages: 1 });
        const error = await failureOf(speak(tts, ['Hello.']));
        expect([error.requestId, typeof error.requestId]).toEqual([ids.at(-1), 'string']);
      });
    });
  }

  it('omega-tts: is on the audio', async () => {
    const tts = await ready(new OmegaTTS({ ...omega, endpoint: sandbox.endpoints.omega }));
    const [chunk] = await speak(tts, ['Hello.']);
    expect(chunk?.requestId).toMatch(/^[\da-f-]{36}$/);
  });

  it("alpha-tts: is the connection's, on the audio", async () => {
    const tts = await ready(new AlphaTTS({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.alpha }));
    const chunks = await speak(tts, ['Hello.']);
    const [record] = sandbox.records('alpha-tts');
    const told = record?.messages.map(({ text = '' }) => text).find((text) => text.includes('"Metadata"'));
    expect([...new Set(chunks.map(({ requestId }) => requestId))]).toEqual([
      told === undefined
        ? expect.stringMatching(/^[\da-f-]{36}$/)
        : (JSON.parse(told) as { request_id: string }).request_id,
    ]);
  });

  it("pi-tts: is the request's, on its error", async () => {
    const tts = await ready(new PiTTS({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints.pi, voiceId: 'nobody' }));
    const error = await failureOf(speak(tts, ['Hello.']));
    expect(error.requestId).toMatch(/^[\da-f-]{36}$/);
  });
});
