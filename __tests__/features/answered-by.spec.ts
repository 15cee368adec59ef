/** An agent that talks to a machine for a minute, hangs up on a human, or waits for somebody who says nothing. */
import { NEVER, Subject } from 'rxjs';
import { answeredBy, type Answered, type AnsweredByOptions, type VoiceEvent } from 'rxvoice';
import { keyTones, type AudioChunk } from 'rxvoice/audio';
import { FakeSTT } from 'rxvoice/testing';
import { int16Bytes } from '../../lib/audio/samples.ts';
import { countAnsweringWords } from '../../lib/features/answering/words.ts';
import { marbles } from '../operators/marbles.ts';

const metadata = { encoding: 'linear16', sampleRate: 8000, channels: 1 } as const;

/** A beep of 300 ms, and 100 ms of silence. */
function beep(hz: number): AudioChunk {
  const samples = Int16Array.from({ length: 3_200 }, (_, n) =>
    n < 2_400 ? 9_000 * Math.sin((2 * Math.PI * hz * n) / 8_000) : 0,
  );
  return { data: int16Bytes(samples), metadata };
}

const at = 0;
const interim = (text: string): VoiceEvent => ({
  ...{ type: 'transcript.interim', at, text, stablePrefix: '' },
  result: FakeSTT.result(text, 'interim'),
});
const final = (text: string): VoiceEvent => ({ type: 'transcript.final', at, text });

const events: Record<string, VoiceEvent> = {
  r: { type: 'session.ready', at },
  s: { type: 'user.state', at, state: 'speaking' },
  q: { type: 'user.state', at, state: 'silent' },
  c: { type: 'call.ended', at },
  x: { type: 'turn.started', at, source: 'speech' },
  h: interim('Hello?'),
  H: final('Hello?'),
  y: interim('You have reached'),
  Y: final('You have reached Bob.'),
  V: final('You have reached the voicemail of Bob. To page me press 1.'),
  v: interim('please leave a message after the tone'),
  M: final('For sales, press one. For support, press two. To leave a message, press three.'),
  O: final('Acme plumbing, Bob speaking, how can I help you today?'),
};
const sounds = {
  B: beep(1_000),
  k: { data: int16Bytes(keyTones('5')), metadata },
  n: { data: new Uint8Array(3_200), metadata },
};

/** A hundredth of the defaults, so that a column is 100 ms. */
const limits = { timeoutMs: 200, silenceMs: 50, pauseMs: 10, maxGreetingMs: 24 };

interface Scene {
  readonly voice: string;
  readonly audio?: string;
  readonly answered: string;
  readonly verdict: Partial<Answered>;
  readonly options?: AnsweredByOptions;
}

const scenes: Readonly<Record<string, Scene>> = {
  'a human who says hello': {
    voice: '   --s-h--Hq-----------------',
    answered: '------------------(v|)',
    verdict: { by: 'human', reason: 'length', text: 'Hello?', greetingMs: 6 },
  },
  'a human, where nothing but words tells of a voice': {
    voice: '   --h--H--------------------',
    answered: '---------------(v|)',
    verdict: { by: 'human', reason: 'length', text: 'Hello?', greetingMs: 3 },
  },
  'a human without words: a voice is enough': {
    voice: '   --s-----q-----------------',
    answered: '------------------(v|)',
    verdict: { by: 'human', reason: 'length', text: '' },
  },
  'a human who begins anew': {
    voice: '   --s-q-----s--q------------',
    answered: '-----------------------(v|)',
    verdict: { by: 'human', greetingMs: 11 },
  },
  'a human who says a lot, and asks': {
    voice: '   --s-----------------------------------Oq------',
    answered: '-------------------------------------------------(v|)',
    verdict: { by: 'human', reason: 'words' },
  },
  'a long greeting': {
    voice: '   --s---y-------------------------Yq------------',
    answered: '-------------------------------------------(v|)',
    verdict: { by: 'machine', reason: 'length', greetingMs: 31 },
  },
  'a greeting as long as it may be': {
    voice: '   --s-----------------------q------------------',
    answered: '------------------------------------(v|)',
    verdict: { by: 'human', greetingMs: 24 },
  },
  'the words of voicemail, although it has a key': {
    voice: '   --s---y---------V---',
    answered: '----------------(v|)',
    verdict: { by: 'machine', reason: 'words' },
  },
  'words that never become final': {
    voice: '   --s---y--v---q------',
    answered: '-----------------------(v|)',
    verdict: { by: 'machine', reason: 'words', text: 'please leave a message after the tone' },
  },
  'a menu, although one may leave a message': {
    voice: '   --s-------------M---',
    answered: '----------------(v|)',
    verdict: { by: 'menu', reason: 'words' },
  },
  'a beep after a voice': {
    voice: '   --s----q--------',
    audio: '   nnnnnnnnnnnB----',
    answered: '-----------(v|)',
    verdict: { by: 'machine', reason: 'beep', greetingMs: 5 },
  },
  'a beep in a greeting that goes on': {
    voice: '   --s-------------',
    audio: '   nnnnnnnnnnnB----',
    answered: '-----------(v|)',
    verdict: { by: 'machine', reason: 'beep', greetingMs: 9 },
  },
  'a tone of the line before anybody speaks': {
    voice: '   ----------s---Hq-----------',
    audio: '   nBnnBnnnnnnnnnnnnnnnnnnnnnn',
    answered: '-------------------------(v|)',
    verdict: { by: 'human' },
  },
  'a key that somebody presses': {
    voice: '   --s---Hq---------------',
    audio: '   -----k-----------------',
    answered: '-----------------(v|)',
    verdict: { by: 'human' },
  },
  'a silent line': {
    voice: '   -',
    answered: '50ms (v|)',
    verdict: { by: 'unsure', reason: 'silence', text: '', greetingMs: 0 },
  },
  'a silent line, from when it was ready': {
    voice: '   30ms r',
    answered: '80ms (v|)',
    verdict: { by: 'unsure', reason: 'silence' },
  },
  'what says one thing only, for ever': {
    voice: '   -s',
    answered: '200ms (v|)',
    verdict: { by: 'machine', reason: 'length', greetingMs: 199 },
  },
  'a voice at the last moment': {
    voice: '   5ms s-----------',
    answered: '10ms (v|)',
    verdict: { by: 'unsure', reason: 'timeout', greetingMs: 5 },
    options: { timeoutMs: 10 },
  },
  'a call that ends': {
    voice: '   --s---c------',
    answered: '------(v|)',
    verdict: { by: 'unsure', reason: 'ended' },
  },
  'events that end': {
    voice: '   --s---|',
    answered: '------(v|)',
    verdict: { by: 'unsure', reason: 'ended' },
  },
  'audio that ends before': {
    voice: '   --s-h--Hq-----------------',
    audio: '   --|',
    answered: '------------------(v|)',
    verdict: { by: 'human' },
  },
};

describe('answeredBy()', () => {
  it.each(Object.entries(scenes))('%s', (_, { voice, audio = 'n', answered, verdict, options }) => {
    marbles(({ hot, expectObservable }) => {
      const answered$ = answeredBy(
        { events$: hot(voice, events) },
        { audio$: hot(audio, sounds) },
        { ...limits, ...options },
      );
      expectObservable(answered$).toBe(answered, { v: expect.objectContaining(verdict) as unknown as Answered });
    });
  });

  it('leaves nothing behind when it is not wanted any more', () => {
    const [events$, audio$] = [new Subject<VoiceEvent>(), new Subject<AudioChunk>()];
    const watching = answeredBy({ events$ }, { audio$ }).subscribe();
    expect([events$.observed, audio$.observed]).toEqual([true, true]);
    watching.unsubscribe();
    expect([events$.observed, audio$.observed]).toEqual([false, false]);
  });

  it.each<[AnsweredByOptions, RegExp]>([
    [{ timeoutMs: -1 }, /^answeredBy: timeoutMs must be from 0 to \d+ ms, not -1$/],
    [{ pauseMs: NaN }, /pauseMs must be .* not NaN$/],
    [{ silenceMs: 1e12 }, /silenceMs/],
  ])('refuses %p', (options, message) => {
    expect(() => answeredBy({ events$: NEVER }, { audio$: NEVER }, options)).toThrow(message);
  });
});

describe('the words of those who answer', () => {
  it.each<['machine' | 'menu' | 'human' | 'none', string]>([
    ['machine', "Hi, this is Bob. I can't come to the phone, so leave me a message after the beep."],
    ['menu', 'For opening hours, press 1. For anything else press zero.'],
    ['human', 'Miller and sons, how may I help you?'],
    ['none', 'Hello, Bob Miller.'],
    ['machine', 'Der gewünschte Gesprächspartner ist zurzeit nicht erreichbar. Sprechen Sie nach dem Signalton.'],
    ['menu', 'Für den Vertrieb drücken Sie bitte die Zwei, für den Einkauf die 3.'],
    ['human', 'Firma Müller, was kann ich für Sie tun?'],
    ['none', 'Müller, guten Tag.'],
    ['machine', 'En este momento no puedo atender. Deje su mensaje después de la señal.'],
    ['menu', 'Para español, oprima el dos.'],
    ['human', '¿Sí? ¿De parte de quién?'],
    ['none', '¿Diga?'],
    ['machine', 'Vous êtes sur la messagerie de Luc. Laissez-moi un message après le bip.'],
    ['menu', 'Pour le service client, tapez 1.'],
    ['human', 'Cabinet Durand, que puis-je faire pour vous ?'],
    ['none', 'Allô, oui ?'],
    ['machine', 'Risponde la segreteria telefonica: lasciate un messaggio dopo il segnale acustico.'],
    ['menu', "Per l'italiano, prema uno."],
    ['human', 'Pronto, chi parla?'],
    ['none', 'Pronto?'],
    ['machine', 'Sua chamada está sendo encaminhada para a caixa postal. Deixe o seu recado após o sinal.'],
    ['menu', 'Para falar com um atendente, tecle 9.'],
    ['human', 'Padaria Lisboa, em que posso ajudar?'],
    ['none', 'Alô?'],
    ['machine', 'ただいま電話に出ることができません。ピーという発信音のあとにメッセージをどうぞ。'],
    ['menu', '予約の方は1を、その他の方は二を押してください。'],
    ['human', 'はい、どちら様でしょうか。'],
    ['none', 'もしもし、田中です。'],
    ['machine', '您好，我现在无法接听电话，请在嘀声后留言。'],
    ['menu', '中文服务请按1，英文服务请按二。'],
    ['human', '喂，您是哪位？'],
    ['none', '喂，你好。'],
    ['machine', 'आप जिस नंबर पर कॉल कर रहे हैं वह उपलब्ध नहीं है। कृपया बीप के बाद संदेश छोड़ें।'],
    ['menu', 'हिंदी के लिए एक दबाएं।'],
    ['human', 'हैलो, आप कौन बोल रहे हैं?'],
    ['none', 'हैलो?'],
    ['machine', 'الرقم المطلوب غير متاح حاليا. الرجاء ترك رسالة بعد سماع الصافرة.'],
    ['menu', 'للغة العربية اضغط ١'],
    ['human', 'ألو، من معي؟'],
    ['none', 'ألو، السلام عليكم.'],
  ])('%s: %s', (kind, text) => {
    const { machine, menu, human } = countAnsweringWords(text);
    const found = Object.entries({ machine, menu, human }).flatMap(([name, count]) => (count > 0 ? [name] : []));
    expect(found).toEqual(kind === 'none' ? [] : [kind]);
  });

  it('takes a menu of several keys for more than one', () => {
    expect(countAnsweringWords('press 1, press two, press 3')).toEqual({ machine: 0, menu: 3, human: 0 });
  });

  it('does not find a word within another', () => {
    expect(countAnsweringWords('we impress 1 person')).toEqual({ machine: 0, menu: 0, human: 0 });
  });
});
