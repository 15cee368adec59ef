import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';
import { concatBytes, readSamples } from '../../../samples/sandbox/pcm.ts';
import { aText, connect, refused, type Client, type Message } from './client.ts';

const path = '/v1/text-to-dialogue/multi-stream-input';
const usual = 'model_id=eleven_v4_turbo&output_format=pcm_16000&sync_alignment=true';
const key = { 'xi-api-key': 'sandbox-key' };
const voice = '21m00Tcm4TlvDq8ikWAM';
const opening = (context_id: string): object => ({ context_id, voices: [voice] });
const say = (context_id: string, text: string, rest: object = {}): object => ({
  ...{ context_id, inputs: [{ text, voice_id: voice }] },
  ...rest,
});
const isFinal = ({ is_final: over }: Message): boolean => over === true;
const isSpoken = ({ is_final_audio_for_turn: over }: Message): boolean => over === true;

describe("the sandbox's text-to-dialogue", () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  const talk = (query = usual): Promise<Client> => connect(`${sandbox.endpoints.gamma}${path}?${query}`, [], key);
  const heard = (client: Client, context: string): string => {
    const audio = client.messages.flatMap(({ context_id: id, audio: piece }) =>
      id === context && typeof piece === 'string' ? [new Uint8Array(Buffer.from(piece, 'base64'))] : [],
    );
    return decodeSamples(readSamples(concatBytes(audio), 'linear16'), 16000).text;
  };

  it('speaks what was flushed, says when that was spoken, tells its characters, and ends the context', async () => {
    const client = await talk();
    client.send({ ...opening('a'), voice_settings: { stability: 0.5 } });
    client.send(say('a', 'Hi there. ', { flush: true }));
    expect(await client.until(isSpoken)).toEqual({ is_final_audio_for_turn: true, context_id: 'a' });
    client.send({ context_id: 'a', close_context: true });
    expect(await client.until(isFinal)).toEqual({ is_final: true, context_id: 'a' });
    expect(heard(client, 'a')).toBe('Hi there. ');
    expect(client.messages[0]).toMatchObject({
      alignment: { chars: ['H', 'i', ' '], char_start_times_ms: [0, 80, 160], char_durations_ms: [80, 80, 80] },
    });
    client.send({ close_socket: true });
    expect((await client.closed).code).toBe(1000);
  });

  it('begins by itself with forty characters in eight words, and does not say when those were spoken', async () => {
    const client = await talk();
    client.send(opening('a'));
    client.send(say('a', 'One two three four five six seven. '));
    client.send(opening('b'));
    client.send(say('b', 'Hi. ', { flush: true }));
    await client.until(isSpoken);
    expect(heard(client, 'a')).toBe('');
    client.send(say('a', 'Eight nine. '));
    await client.until(({ context_id: id }) => id === 'a');
    client.send({ context_id: 'b', flush: true });
    client.send({ context_id: 'b', close_context: true });
    await client.until(isFinal);
    client.send({ context_id: 'a', close_context: true });
    await client.until((message) => isFinal(message) && message['context_id'] === 'a');
    expect(heard(client, 'a')).toBe('One two three four five six seven. Eight nine. ');
    expect(client.messages.filter(isSpoken)).toHaveLength(1);
  });

  it('speaks nothing that waits when a context is closed', async () => {
    const client = await talk();
    client.send(opening('a'));
    for (const text of ['First. ', 'Second. ', 'Third. ']) client.send(say('a', text, { flush: true }));
    client.send({ context_id: 'a', close_context: true });
    await client.until(isFinal);
    expect(heard(client, 'a')).toBe('First. ');
    client.close();
  });

  const wrong: readonly (readonly [string, readonly unknown[], string])[] = [
    ['no JSON', ['{'], 'invalid_input_message'],
    ['an unknown field', [{ ...opening('a'), text: 'x' }], 'invalid_input_message'],
    ['a first message without voices', [say('a', 'Hi. ')], 'invalid_input_message'],
    ['a keep-alive that opens a context', [{ context_id: 'a', keep_alive: true }], 'invalid_input_message'],
    ['a message without a context', [{ keep_alive: true }], 'invalid_input_message'],
    ['two voices', [{ context_id: 'a', voices: [voice, voice] }], 'invalid_input_message'],
    [
      'another voice',
      [opening('a'), { context_id: 'a', inputs: [{ text: 'Hi', voice_id: 'x' }] }],
      'invalid_input_message',
    ],
    ['voices twice', [opening('a'), opening('a')], 'invalid_input_message'],
    ['a voice that does not exist', [{ context_id: 'a', voices: ['nobody'] }], 'voice_id_does_not_exist'],
    ['a speed', [{ ...opening('a'), voice_settings: { speed: 1 } }], 'invalid_input_message'],
    [
      'a message to a context that is closing',
      [
        opening('a'),
        say('a', 'Hi. '),
        { context_id: 'a', close_context: true },
        { context_id: 'a', close_context: true },
      ],
      'context_closing',
    ],
    ['six contexts', ['a', 'b', 'c', 'd', 'e', 'f'].map(opening), 'too_many_contexts'],
  ];
  for (const [name, messages, error] of wrong) {
    it(`refuses ${name}`, async () => {
      const client = await talk();
      for (const message of messages) client.send(message);
      expect(await client.until((message) => 'error' in message)).toEqual({ message: aText, error, code: 1008 });
      expect((await client.closed).code).toBe(1008);
    });
  }

  const queries: readonly (readonly [string, string])[] = [
    ['a model of the other socket', 'model_id=eleven_flash_v2_5&output_format=pcm_16000'],
    ['a parameter of the other socket', `${usual}&auto_mode=true`],
    ['an unknown format', 'model_id=eleven_v3&output_format=pcm_11025'],
  ];
  for (const [name, query] of queries) {
    it(`refuses ${name} in the query`, async () => {
      expect((await refused(`${sandbox.endpoints.gamma}${path}?${query}`, key)).status).toBe(400);
    });
  }
});
