// Slow: audio at the speed of sound, and faults that make it wait and try again.
import { lastValueFrom, of, toArray } from 'rxjs';
import type { TTSConfig } from '../../../lib/providers/tts/voice-service.ts';
import { KappaTTS, type KappaTTSConfig } from '../../../lib/providers/tts/kappa-tts.ts';
import { startSandbox } from '../../../samples/sandbox/index.ts';
import { describeTTS, hear } from '../../conformance/tts.ts';

const voice =
  (outputFormat: string, config: Partial<KappaTTSConfig> = {}) =>
  (address: TTSConfig): KappaTTS =>
    new KappaTTS({ voiceName: 'en-US-JennyNeural', outputFormat, ...config, ...address });

describeTTS({
  ...{ vendor: 'kappa', service: 'kappa-tts' },
  voices: {
    'KappaTTS raw': voice('raw-16khz-16bit-mono-pcm'),
    'KappaTTS riff': voice('riff-24khz-16bit-mono-pcm', { style: 'cheerful', rate: 1.2, pitch: -2, volume: 80 }),
    'KappaTTS mulaw': voice('raw-8khz-8bit-mono-mulaw'),
    'KappaTTS alaw, with a header': voice('riff-8khz-8bit-mono-alaw', { role: 'Girl' }),
  },
});

describe('KappaTTS in the sandbox', () => {
  const raw = voice('raw-16khz-16bit-mono-pcm');

  it('says what looks like markup, and drops what XML does not allow', async () => {
    await using sandbox = await startSandbox();
    const tts = raw({ proxyUrl: sandbox.proxies.kappa });
    await tts.initialize();
    const text = `Tom & Jerry's "<speak>" > 日本語 😀`;
    const chunks = await lastValueFrom(tts.speak(of(`${text}\u0000\u001b\ud800`)).pipe(toArray()));
    expect(hear(chunks).text).toBe(text);
    await tts.dispose();
  });

  const documents = [
    ...[
      '<p>One</p> <p>two</p>',
      `<lang xml:lang="de-DE">One</lang> two`,
      `<emphasis level="strong">One</emphasis> two`,
    ],
    ...[`<mstts:silence type="Leading" value="200ms"/>One two`, `One <bookmark mark="a"/>two`],
    `<mstts:express-as style="sad">One</mstts:express-as> two`,
    `<p>One <s><mstts:express-as style="sad">two</mstts:express-as></s></p>`,
  ];
  for (const content of documents) {
    it(`says ${content} with a style and a rate`, async () => {
      await using sandbox = await startSandbox();
      const tts = voice('raw-16khz-16bit-mono-pcm', { style: 'cheerful', rate: 1.2 })({
        proxyUrl: sandbox.proxies.kappa,
      });
      await tts.initialize();
      const chunks = await lastValueFrom(tts.speak(of(`<speak>${content}</speak>`)).pipe(toArray()));
      expect(hear(chunks).text).toBe('One two');
      await tts.dispose();
    });
  }

  it('speaks with a token of the service, and fetches another when that one is refused', async () => {
    await using sandbox = await startSandbox();
    let calls = 0;
    const token = async (): Promise<string> => {
      if (++calls === 1) return 'expired';
      const answer = await fetch(`${sandbox.endpoints.kappa}/sts/v1.0/issueToken`, {
        method: 'POST',
        headers: { 'Ocp-Apim-Subscription-Key': 'sandbox-key' },
      });
      return answer.text();
    };
    const tts = raw({ endpoint: sandbox.endpoints.kappa, apiKey: token });
    await tts.initialize();
    const chunks = await lastValueFrom(tts.speak(of('Hello.')).pipe(toArray()));
    expect([hear(chunks).text, calls]).toEqual(['Hello.', 2]);
    expect(sandbox.records('kappa-tts').map(({ status }) => status)).toEqual([401, 200]);
    await tts.dispose();
  });
});
