/**
 * ElevenLabs' own client against the sandbox. It speaks over no socket itself, but knows all messages of the socket: what
 * GammaTTS sends and what the sandbox answers must be those.
 *
 * Slow: the vendors' clients take seconds to load.
 */
import { createRequire } from 'node:module';
import type * as Sdk from '@elevenlabs/elevenlabs-js';
import type * as Schemas from '@elevenlabs/elevenlabs-js/serialization/index.js';
import { from, lastValueFrom, toArray } from 'rxjs';
import { GammaTTS, type GammaTTSConfig } from '../../lib/index.ts';
import { sentJson, startSandbox, type Sandbox } from '../../samples/sandbox/index.ts';
import { decodeSamples } from '../../samples/sandbox/modem.ts';
import { concatBytes, readSamples } from '../../samples/sandbox/pcm.ts';

const load = createRequire(import.meta.url);
const { ElevenLabsClient } = load('@elevenlabs/elevenlabs-js') as typeof Sdk;
const schemas = load('@elevenlabs/elevenlabs-js/serialization') as typeof Schemas;

const key = 'sandbox-key';
const strictly = { unrecognizedObjectKeys: 'fail' } as const;

describe('the official ElevenLabs client', () => {
  let sandbox: Sandbox;
  let tts: GammaTTS | undefined;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await tts?.dispose();
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());

  /** Speaks two sentences; what is heard of them. */
  async function speak(config: Partial<GammaTTSConfig>): Promise<string> {
    tts = new GammaTTS({ apiKey: key, endpoint: sandbox.endpoints.gamma, voiceId: '21m00Tcm4TlvDq8ikWAM', ...config });
    await tts.initialize();
    const chunks = await lastValueFrom(tts.speak(from(['Hello there.', 'Bye.'])).pipe(toArray()));
    return decodeSamples(readSamples(concatBytes(chunks.map(({ data }) => data)), 'linear16'), 16_000).text.trim();
  }

  it('is given a single-use token, with which GammaTTS speaks', async () => {
    const client = new ElevenLabsClient({ apiKey: key, baseUrl: sandbox.endpoints.gamma });
    let tokens = 0;
    const apiKey = async (): Promise<string> => {
      tokens++;
      return (await client.tokens.singleUse.create('tts_websocket')).token;
    };
    expect([await speak({ apiKey }), tokens]).toEqual(['Hello there. Bye.', 1]);
  });

  it('knows every message that GammaTTS sends', async () => {
    await speak({
      ...{ stability: 0.5, similarityBoost: 0.75, style: 0.1, useSpeakerBoost: true, speed: 1.1 },
      ...{ chunkLengthSchedule: [50, 90], pronunciationDictionaries: [{ id: 'd', versionId: 'v' }] },
    });
    await tts?.dispose();
    const sent = sandbox.records('gamma-tts').flatMap((record) => sentJson(record));
    const kinds = [
      ...[schemas.InitializeConnectionMulti, schemas.SendTextMulti, schemas.SendTextMulti],
      ...[schemas.FlushContext, schemas.CloseContext, schemas.CloseSocket],
    ];
    expect(sent.length).toBe(kinds.length);
    for (const [index, kind] of kinds.entries()) {
      const parsed = kind.parse(sent[index], strictly);
      expect([index, parsed.ok ? [] : parsed.errors]).toEqual([index, []]);
    }
  });

  it('understands every message of the sandbox', async () => {
    await speak({});
    const answers = sandbox
      .records('gamma-tts')
      .flatMap(({ messages }) => messages.flatMap((each) => (each.from === 'service' ? [each.text ?? ''] : [])))
      .map((text) => JSON.parse(text) as Record<string, unknown>);
    const last = answers.pop();
    expect(schemas.FinalOutputMulti.parse(last, strictly).ok).toBe(true);
    for (const { isFinal, ...answer } of answers) {
      const parsed = schemas.AudioOutputMulti.parse(answer, strictly);
      expect([isFinal, parsed.ok ? [] : parsed.errors]).toEqual([null, []]);
    }
    expect(answers.length).toBeGreaterThan(2);
  });
});
