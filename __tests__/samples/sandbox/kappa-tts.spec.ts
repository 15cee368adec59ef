import { startSandbox } from '../../../samples/sandbox/index.ts';
import type { Sandbox } from '../../../samples/sandbox/index.ts';
import { decodeSamples } from '../../../samples/sandbox/modem.ts';
import { readSamples, readWav } from '../../../samples/sandbox/pcm.ts';

const open =
  "<speak version='1.0' xmlns='http://www.w3.org/2001/10/synthesis' xmlns:mstts='http://www.w3.org/2001/mstts' xml:lang='en-US'>";
const voice = (content: string, name = 'en-US-JennyNeural'): string =>
  `${open}<voice name="${name}">${content}</voice></speak>`;

describe('kappa /cognitiveservices/v1', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterAll(() => sandbox.close());

  const post = (body: string, headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${sandbox.endpoints.kappa}/cognitiveservices/v1`, {
      method: 'POST',
      headers: {
        ...{ 'ocp-apim-subscription-key': 'sandbox-key', 'content-type': 'application/ssml+xml' },
        ...{ 'x-microsoft-outputformat': 'raw-16khz-16bit-mono-pcm', ...headers },
      },
      body,
    });
  const bytesOf = async (answer: Promise<Response>) => new Uint8Array(await (await answer).arrayBuffer());
  const asks = (id: string): Record<string, string> => ({ 'x-microsoft-outputformat': id });

  it('says the text of SSML, whatever is around it', async () => {
    const text = `<mstts:express-as style='cheerful' styledegree='1.5'><prosody rate='+10.00%' pitch='+2st'>Tom &amp; <break time="200ms"/>Jerry</prosody></mstts:express-as>`;
    const bytes = await bytesOf(post(voice(text)));
    expect(decodeSamples(readSamples(bytes, 'linear16'), 16000).text).toBe('Tom & Jerry');
    expect(await bytesOf(post(voice(' ')))).toHaveLength(0);
  });

  it('takes the elements of the vendor, each where it may be', async () => {
    const text = `<mstts:silence type='Leading' value='200ms'/><lang xml:lang='de-DE'><p><s><mstts:express-as style='sad'><prosody rate='1'>One</prosody></mstts:express-as></s></p></lang> <emphasis level='strong'>two</emphasis> <bookmark mark='a'/><sub alias='three'>3</sub>`;
    const answer = await post(voice(text));
    expect(answer.status).toBe(200);
    const bytes = await bytesOf(Promise.resolve(answer));
    expect(decodeSamples(readSamples(bytes, 'linear16'), 16000).text).toBe('One two 3');
  });

  it('makes each kind of format', async () => {
    for (const id of ['riff-24khz-16bit-mono-pcm', 'riff-8khz-8bit-mono-mulaw', 'riff-8khz-8bit-mono-alaw']) {
      const wav = readWav(await bytesOf(post(voice('Hi.'), asks(id))));
      expect(wav && decodeSamples(wav.samples, wav.sampleRate).text).toBe('Hi.');
    }
    for (const [id, magic] of [
      ['audio-24khz-48kbitrate-mono-mp3', [0xff, 0xf3]],
      ['ogg-24khz-16bit-mono-opus', [0x4f, 0x67]],
      ['webm-24khz-16bit-mono-opus', [0x1a, 0x45]],
    ] as const) {
      expect([...(await bytesOf(post(voice('Hi.'), asks(id)))).subarray(0, 2)]).toEqual([...magic]);
    }
  });

  for (const [name, body] of [
    ['text that is not escaped', voice('Tom & Jerry')],
    ['no voice', `${open}</speak>`],
    ['text beside the voice', `${open}Hi.<voice name='en-US-JennyNeural'>Hi.</voice></speak>`],
    ['an unknown voice', voice('Hi.', 'en-US-NobodyNeural')],
    ['no version', voice('Hi.').replace(" version='1.0'", '')],
    ['no language', voice('Hi.').replace(" xml:lang='en-US'", '')],
    ['no namespace', voice("<mstts:express-as style='sad'>Hi.</mstts:express-as>").replace(/ xmlns:mstts='[^']*'/, '')],
    [
      'express-as within prosody',
      voice("<prosody rate='1'><mstts:express-as style='sad'>a</mstts:express-as></prosody>"),
    ],
    ['a language within prosody', voice("<prosody rate='1'><lang xml:lang='de-DE'>a</lang></prosody>")],
    ['a paragraph within express-as', voice("<mstts:express-as style='sad'><p>a</p></mstts:express-as>")],
    ['a pause beside the voice', `${open}<voice name='en-US-JennyNeural'>Hi.</voice><break/></speak>`],
    ['a pitch that is none', voice("<prosody pitch='2'>Hi.</prosody>")],
    ['an unknown element', voice('<b>Hi.</b>')],
  ] as const) {
    it(`refuses ${name}, without a word`, async () => {
      const answer = await post(body);
      expect([answer.status, await answer.text()]).toEqual([400, '']);
    });
  }

  it('wants SSML, a format that it has, and a key or a token', async () => {
    expect((await post(voice('Hi.'), { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await post(voice('Hi.'), asks('raw-16khz-8bit-mono-pcm'))).status).toBe(400);
    expect((await post(voice('Hi.'), { 'ocp-apim-subscription-key': 'wrong' })).status).toBe(401);
    const issued = await fetch(`${sandbox.endpoints.kappa}/sts/v1.0/issueToken`, {
      method: 'POST',
      headers: { 'ocp-apim-subscription-key': 'sandbox-key' },
    });
    const authorization = `Bearer ${await issued.text()}`;
    const url = `${sandbox.endpoints.kappa}/cognitiveservices/voices/list`;
    expect((await fetch(url, { headers: { authorization } })).status).toBe(200);
    expect((await fetch(url, { headers: { authorization: 'Bearer sandbox-key' } })).status).toBe(401);
  });
});
