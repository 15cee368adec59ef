import { english, loadPhrases, phrasebook, sharedPhrasebook } from '../../lib/text/phrases.ts';
import { countWords } from '../../lib/text/words.ts';

describe('phrases', () => {
  const book = phrasebook(english);

  it('of a language are indexed once, for all conversations', () => {
    expect(sharedPhrasebook(english)).toBe(sharedPhrasebook(english));
    expect(sharedPhrasebook(english).isCommand('Stop.')).toBe(true);
  });

  it.each(['Stop.', 'STOP!', 'stop, stop', 'stooop', 'Hold on…', 'okay, wait', 'Hang on a sec', 'Never mind.'])(
    '"%s" is a command',
    (text) => {
      expect(book.isCommand(text)).toBe(true);
      expect(book.isBackchannel(text)).toBe(false);
    },
  );

  it.each(['Mm-hmm.', 'uh-huh', 'Mhm', 'mm hmm', 'Yeah', 'yeaah', 'OK, right.', 'Oh, I see.', 'Okay okay okay'])(
    '"%s" is a backchannel',
    (text) => {
      expect(book.isBackchannel(text)).toBe(true);
      expect(book.isCommand(text)).toBe(false);
    },
  );

  it.each(['', '?', 'no', 'stop the music', 'okay but', 'waiter', 'I want to cancel', 'yesterday'])(
    '"%s" is neither',
    (text) => {
      expect(book.isBackchannel(text)).toBe(false);
      expect(book.isCommand(text)).toBe(false);
    },
  );

  it.each([
    ['ar', 'توقف', 'انتظر!', 'نعم', 'أيوة، تمام'],
    ['de-DE', 'Stopp!', 'Warte mal', 'Ja, genau.', 'Mhm'],
    ['en-GB', 'Stop', 'Hang on', 'Yeah', 'Right, okay'],
    ['es-MX', '¡Para!', 'Espera un momento', 'Sí', 'si, claro'],
    ['fr', 'Arrêtez !', 'Attends', 'Oui', "D'accord"],
    ['hi-IN', 'रुकिए', 'एक मिनट', 'हाँ', 'ठीक है'],
    ['it', 'Basta!', 'Aspetta un attimo', 'Sì, certo', 'va bene'],
    ['ja-JP', '待ってください', 'ストップ', 'うん、うん', 'はい、そうですね。'],
    ['pt_BR', 'Espera aí', 'para, para', 'Tá bom', 'uh-hum'],
    ['zh-CN', '等一下', '停！', '嗯嗯', '好的，明白了'],
  ])('%s has its own', async (locale, command, other, nod, backchannel) => {
    const { isCommand, isBackchannel } = phrasebook(await loadPhrases(locale));
    expect([command, other, nod, backchannel].map((text) => [isCommand(text), isBackchannel(text)])).toEqual([
      ...[
        [true, false],
        [true, false],
      ],
      ...[
        [false, true],
        [false, true],
      ],
    ]);
  });

  it.each([
    ['fr', 'Arretez'],
    ['pt', 'Ta bom'],
    ['de', 'Naturlich'],
  ])('%s: accents may be left out of "%s"', async (locale, text) => {
    const { isCommand, isBackchannel } = phrasebook(await loadPhrases(locale));
    expect(isCommand(text) || isBackchannel(text)).toBe(true);
  });

  it.each([undefined, '', 'nl', 'not a locale'])('of another language (%s) are English', async (locale) => {
    expect(await loadPhrases(locale)).toBe(english);
  });

  it('are found quickly, and long texts are none', () => {
    const { isBackchannel } = phrasebook({
      language: 'ja',
      commands: [],
      backchannels: ['うん', 'うんうん', 'ん', 'う'],
    });
    expect(isBackchannel('うん'.repeat(32))).toBe(true);
    expect(isBackchannel(`${'うん'.repeat(31)}x`)).toBe(false);
    expect(isBackchannel('うん'.repeat(33))).toBe(false);
  });

  it('are one word where a hyphen joins them', () => {
    expect(['mm-hm', 'uh-huh.', 'well - no', 'state-of-the-art', '-no', 'a‑b'].map((text) => countWords(text))).toEqual(
      [1, 1, 2, 1, 1, 1],
    );
  });
});
