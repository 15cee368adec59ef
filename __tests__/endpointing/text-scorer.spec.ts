import { textScorer } from '../../lib/endpointing/text-scorer.ts';
import { leastMs } from '../transport/least-time.ts';

/** What a speaker of each language stops at, in mid-sentence and at the end of one. */
const cases: Readonly<Record<string, { unfinished: readonly string[]; complete: readonly string[] }>> = {
  en: {
    unfinished: [
      'I would like to',
      'I want to book a table for',
      'The thing is',
      'My name is',
      "I'd like a flight to Boston and",
      'It was because',
      'Could you',
      'So I was thinking, um',
      'I need the.',
      "And then I'm",
      'Well, let me',
      'I think that',
      'Send it to my',
      'two coffees, a tea,',
      'I was going to say…',
      'The number is —',
    ],
    complete: [
      'I would like to book a table.',
      'Yes',
      'no thanks',
      'Where are you from?',
      'what is this for',
      'Turn the light on',
      'Please log me in',
      'I think so',
      'My name is Ann',
      "That's fine",
      'What time is it',
      'Call her',
      'Who are you talking to?',
    ],
  },
  es: {
    unfinished: [
      'Quiero reservar una mesa para',
      'Me gustaría',
      'porque',
      'Mi nombre es',
      'el martes y',
      'Lo que pasa es que',
      'Vivo en la',
    ],
    complete: [
      'Quiero reservar una mesa.',
      'Sí',
      'Claro que sí',
      '¿Para qué?',
      'No lo sé',
      'Dos personas',
      'Me llamo Ana',
      '¿Por qué?',
    ],
  },
  fr: {
    unfinished: [
      'Je voudrais',
      'Je voudrais réserver une',
      'parce que',
      "J'aimerais parler avec",
      'Je m’appelle',
      'euh',
      'lundi ou',
      "parce qu'",
      'Est-ce que',
    ],
    complete: [
      'Je voudrais réserver une table.',
      'Oui',
      "C'est bon",
      'Je ne sais pas',
      'Elle est là',
      'Mais si',
      'Deux personnes',
      'Pourquoi ?',
    ],
  },
  de: {
    unfinished: [
      'Ich möchte',
      'Ich möchte einen',
      'weil',
      'Mein Name ist',
      'am Montag oder',
      'Könnten Sie',
      'Ich brauche das für',
      'ähm',
      'Ich hätte gern eine',
    ],
    complete: [
      'Ich möchte einen Tisch reservieren.',
      'Ja',
      'Mach das Licht an',
      'Ich komme mit',
      'Ich will das',
      'Kann sein',
      'Zwei Personen',
      'Was gibt es?',
    ],
  },
  pt: {
    unfinished: [
      'Eu gostaria de',
      'Eu queria',
      'porque',
      'Meu nome é',
      'na segunda ou',
      'Você poderia',
      'Preciso disso para',
      'uma mesa com',
    ],
    complete: [
      'Eu gostaria de reservar uma mesa.',
      'Sim',
      'Não sei',
      'Por quê?',
      'Duas pessoas',
      'Está bem',
      'Como?',
      'Me chamo Ana',
    ],
  },
  it: {
    unfinished: [
      'Vorrei',
      'Vorrei prenotare un',
      'siccome',
      'Mi chiamo',
      'lunedì oppure',
      'Ho bisogno di',
      'un tavolo per',
      'ehm',
    ],
    complete: [
      'Vorrei prenotare un tavolo.',
      'Sì',
      'Non lo so',
      'Perché?',
      'Due persone',
      'Va bene',
      'Mi chiamo Anna',
      'Così così',
    ],
  },
  ja: {
    unfinished: [
      '予約を',
      '明日の午後に',
      'えっと',
      '行きたいのですけど',
      '私は',
      'もし',
      '東京と',
      'それから',
      '電車で',
      '予約をしたいので',
    ],
    complete: [
      '予約をお願いします。',
      'はい',
      'こんにちは',
      '二人です',
      'わかりました',
      '何してるの？',
      'お願い',
      '待って',
      'いいえ',
    ],
  },
  zh: {
    unfinished: ['我想要订一个', '因为', '我的名字是', '星期一或者', '请帮我', '但是', '我想从', '然后', '我想要'],
    complete: ['我想订一个桌子。', '好的', '是的', '两个人', '没有', '不是', '我不知道', '对', '多少钱？'],
  },
  hi: {
    unfinished: ['मुझे एक', 'मैं दिल्ली से', 'क्योंकि', 'मेरा नाम', 'सोमवार या', 'दो लोगों के लिए', 'मेज़ और', 'मैं जानना चाहता हूँ कि'],
    complete: ['मुझे एक मेज़ चाहिए।', 'हाँ', 'नहीं', 'दो लोग', 'मुझे नहीं पता', 'ठीक है', 'कितना है?', 'मेरा नाम राज है'],
  },
  ar: {
    unfinished: [
      'أريد أن',
      'أريد حجز طاولة في',
      'لأن',
      'اسمي',
      'يوم الاثنين أو',
      'هل يمكنك',
      'يعني',
      'طاولة مع',
      'أنا أبحث عن',
    ],
    complete: ['أريد حجز طاولة.', 'نعم', 'لا', 'شخصان', 'لا أعرف', 'حسنا', 'كم السعر؟', 'اسمي أحمد'],
  },
};

describe('textScorer', () => {
  for (const [language, { unfinished, complete }] of Object.entries(cases)) {
    const score = textScorer(language);
    it.each(unfinished)(`${language}: more must follow "%s"`, (text) => expect(score(text)).toBeLessThan(0.5));
    it.each(complete)(`${language}: "%s" may be all`, (text) => expect(score(text)).toBeGreaterThan(0.5));
  }

  it('judges the last sentence of several', () => {
    const score = textScorer('en');
    expect(score('What do you have? I take two and a')).toBeLessThan(0.5);
    expect(score('I want to go to Rome. That is all.')).toBeGreaterThan(0.5);
    expect(score('Where is it? I need it for')).toBeLessThan(0.5);
  });

  it('goes by the language, not by its region', () => {
    expect(textScorer('pt-BR')('Eu gostaria de')).toBeLessThan(0.5);
  });

  it('judges another language by its marks alone', () => {
    const score = textScorer('fi');
    expect([score('ja, mutta,'), score('ja mutta'), score('Hyvä.')]).toEqual([0.1, 0.7, 0.95]);
  });

  it('takes no longer for a text that is made to be slow', () => {
    const score = textScorer('en');
    for (const piece of [' ', '.', '", ', 'a ']) {
      const msFor = (times: number): number => leastMs(() => score(`${piece.repeat(times)}a`), 1);
      const ms = msFor(60_000);
      expect(ms < 1 || ms < 8 * msFor(15_000)).toBe(true);
    }
  });
});
