import { isSsml, splitSsml, textOfSsml } from '../../../../lib/text/ssml.ts';
import { escapeXml, xmlElement } from '../../../../lib/text/xml.ts';

describe('escapeXml', () => {
  const cases: readonly (readonly [string, string])[] = [
    [`Tom & Jerry said "hi", it's <b>`, 'Tom &amp; Jerry said &quot;hi&quot;, it&apos;s &lt;b&gt;'],
    ['&amp;', '&amp;amp;'],
    ['a\tb\nc\rd', 'a\tb\nc\rd'],
    ['nul \u0000 bell \u0007 escape \u001b \ufffe \uffff', 'nul  bell  escape   '],
    ['lone \ud800 and \udc00, whole \ud83d\ude00', 'lone  and , whole \ud83d\ude00'],
    ['日本語 الع', '日本語 الع'],
  ];
  for (const [text, escaped] of cases) {
    it(`of ${JSON.stringify(text)}`, () => expect(escapeXml(text)).toBe(escaped));
  }
});

describe('xmlElement', () => {
  it('escapes its attributes, and leaves out those that are not given', () => {
    expect(xmlElement('a', { 'b:c': `"<it's>"`, d: 0, e: undefined }, 'x &amp; <y/>')).toBe(
      `<a b:c='&quot;&lt;it&apos;s&gt;&quot;' d='0'>x &amp; <y/></a>`,
    );
  });
});

describe('isSsml', () => {
  for (const text of ['<speak>Hi</speak>', ' \n<speak version="1.0">Hi</speak>', '<SPEAK>', '<speak/>']) {
    it(`takes ${JSON.stringify(text)} for a document`, () => expect(isSsml(text)).toBe(true));
  }
  for (const text of ['Hi', 'Say <speak>', '<speaker>', 'a < b', '']) {
    it(`takes ${JSON.stringify(text)} for text`, () => expect(isSsml(text)).toBe(false));
  }
});

describe('textOfSsml', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['<speak>Hello <break time="300ms"/> world</speak>', 'Hello world'],
    ['<speak><p>One.</p><p>Two.</p></speak>', 'One. Two.'],
    ['<speak><emphasis>un</emphasis>believable</speak>', 'unbelievable'],
    ['<speak>Tom &amp; Jerry &lt;3 &#233;&#xe9; &quot;x&quot; &nbsp;</speak>', 'Tom & Jerry <3 éé "x" &nbsp;'],
    ['<speak><!-- not <b>said</b> -->said &#x99999999;</speak>', 'said'],
  ];
  for (const [document, text] of cases) it(`of ${document}`, () => expect(textOfSsml(document)).toBe(text));
});

describe('splitSsml', () => {
  it('leaves a document that fits unchanged, and drops one without words', () => {
    expect(splitSsml(' <speak>Hello <b>there</b>.</speak> ', 40)).toEqual(['<speak>Hello <b>there</b>.</speak>']);
    expect(splitSsml('<speak> <break/> </speak>')).toEqual([]);
  });

  it('cuts at the ends of sentences, and opens again what was open', () => {
    const document = '<speak xml:lang="en"><prosody rate="slow">One two. Three four, five.</prosody> Six.</speak>';
    expect(splitSsml(document, 83)).toEqual([
      '<speak xml:lang="en"><prosody rate="slow">One two.</prosody></speak>',
      '<speak xml:lang="en"><prosody rate="slow"> Three four, five.</prosody> Six.</speak>',
    ]);
  });

  it('cuts between paragraphs and at pauses', () => {
    expect(splitSsml('<speak><p>One two</p><p>Three four</p></speak>', 40)).toEqual([
      '<speak><p>One two</p></speak>',
      '<speak><p>Three four</p></speak>',
    ]);
    expect(splitSsml('<speak>One two <break time="1s"/> three four</speak>', 48)).toEqual([
      '<speak>One two <break time="1s"/></speak>',
      '<speak> three four</speak>',
    ]);
  });

  it('cuts clauses, then words, where no sentence ends', () => {
    expect(splitSsml('<speak>One two, three four</speak>', 33)).toEqual([
      '<speak>One two,</speak>',
      '<speak> three four</speak>',
    ]);
    expect(splitSsml('<speak>One two three four</speak>', 32)).toEqual([
      '<speak>One two three</speak>',
      '<speak> four</speak>',
    ]);
  });

  it('never cuts an element that says how to read what is in it', () => {
    expect(
      splitSsml('<speak>On <say-as interpret-as="date">12. 5. 2026</say-as> we met. Then we left.</speak>', 80),
    ).toEqual([
      '<speak>On <say-as interpret-as="date">12. 5. 2026</say-as> we met.</speak>',
      '<speak> Then we left.</speak>',
    ]);
  });

  it('counts as the service counts, and loses no word, whatever the limit', () => {
    const bytes = (character: string): number => new TextEncoder().encode(character).length;
    const body =
      '<p>Größe ändert. 日本語を話す。もう一度。</p><s>Tom &amp; Jerry, <emphasis level="strong">over</emphasis>joyed.</s>';
    const document = `<speak>${body.repeat(4)}</speak>`;
    for (let limit = 60; limit <= 400; limit += 17) {
      const pieces = splitSsml(document, limit, bytes);
      expect(pieces.map(textOfSsml).join('').replace(/\s/g, '')).toBe(textOfSsml(document).replace(/\s/g, ''));
      for (const piece of pieces) {
        expect(new TextEncoder().encode(piece).length).toBeLessThanOrEqual(Math.max(limit, 90));
        expect(piece).toMatch(/^<speak>.*<\/speak>$/s);
        const tags = [...piece.matchAll(/<(\/?)(p|s|emphasis)\b[^>]*>/g)];
        expect(tags.filter(([, close]) => close).length).toBe(tags.length / 2);
      }
    }
  });

  it('takes what is no XML as it comes', () => {
    for (const broken of ['<speak>a < b', '<speak', '<speak></speak></speak>a', '<speak><<>>a</', '<speak>&;&#;</x>']) {
      expect(() => splitSsml(broken, 8)).not.toThrow();
    }
  });
});
