import { startSandbox, type Sandbox } from '../../../samples/sandbox/index.ts';
import { languageOf } from '../../../samples/sandbox/languages.ts';
import { respond } from '../../../samples/sandbox/responder.ts';
import { pieces, speech } from './audio.ts';
import { connect } from './client.ts';

describe("the sandbox's languages", () => {
  for (const [text, language] of [
    ['Hello there', 'en'],
    ['What is the weather in Los Angeles?', 'en'],
    ['No comment.', 'en'],
    ['4711', 'en'],
    ['Hola, ¿qué hora es?', 'es'],
    ['como estas', 'es'],
    ["Bonjour, quelle heure est-il, s'il vous plaît ?", 'fr'],
    ['Wie ist das Wetter in Berlin?', 'de'],
    ['Ciao, che ore sono?', 'it'],
    ['Olá, bom dia', 'pt'],
    ['Hoe laat is het?', 'nl'],
    ['東京の天気は？', 'ja'],
    ['北京天气', 'zh'],
    ['안녕하세요', 'ko'],
    ['Привет', 'ru'],
  ] as const) {
    it(`${text}: ${language}`, () => {
      expect(languageOf(text)).toBe(language);
    });
  }

  it('are chosen from those that are given, the first where the text does not say', () => {
    expect(languageOf('hola amigo', ['en-US', 'es-MX'])).toBe('es-MX');
    expect(languageOf('hola amigo', ['fr', 'de'])).toBe('fr');
    expect(languageOf('東京', ['en', 'zh', 'ja'])).toBe('zh');
  });

  for (const [said, answer] of [
    ['¡Hola!', '¡Hola! ¿En qué puedo ayudarte?'],
    ['Muchas gracias', 'De nada.'],
    ['¿Qué hora es?', 'Has dicho: ¿Qué hora es?'],
    ['Bonjour', 'Bonjour ! Comment puis-je vous aider ?'],
    ['Quelle heure est-il ?', 'Vous avez dit : Quelle heure est-il ?'],
    ['Danke', 'Gern geschehen.'],
    ['こんにちは', 'こんにちは！ご用件をどうぞ。'],
    ['東京の天気は？', '「東京の天気は？」と言いましたね。'],
  ] as const) {
    it(`its model answers ${said} in kind`, () => {
      const { tokens } = respond({
        ...{ system: '', tools: [], choice: 'auto', parallel: true, maxTokens: 100, stop: [] },
        turns: [{ role: 'user', text: said }],
      });
      expect(tokens.join('')).toBe(answer);
    });
  }

  describe('on the wires', () => {
    let sandbox: Sandbox;
    beforeAll(async () => {
      sandbox = await startSandbox();
    });
    afterAll(() => sandbox.close());

    for (const [service, path, close, find] of [
      [
        'Flux',
        '/v2/listen?model=flux-general-multi&encoding=linear16&sample_rate=16000',
        'CloseStream',
        ({ event, languages }: Readonly<Record<string, unknown>>) => (event === 'EndOfTurn' ? languages : undefined),
      ],
      [
        'Nova',
        '/v1/listen?model=nova-3&language=multi&encoding=linear16&sample_rate=16000',
        'CloseStream',
        ({ is_final: isFinal, channel }: Readonly<Record<string, unknown>>) =>
          isFinal === true
            ? (channel as { alternatives: { languages?: unknown }[] }).alternatives[0]?.languages
            : undefined,
      ],
    ] as const) {
      it(`${service} tells which was said`, async () => {
        const client = await connect(`${sandbox.endpoints.alpha}${path}`, ['token', 'sandbox-key']);
        for (const piece of pieces(speech(['hola, cómo está usted', 1_000]), 2560)) client.sendBytes(piece);
        client.send({ type: close });
        await client.closed;
        expect(client.messages.flatMap((message) => find(message) ?? [])[0]).toBe('es');
      });
    }
  });
});
