import { foldText } from '../../text/words.ts';

/** What is said by whoever answers a call, in one language. `#` stands for a digit or its name. */
interface AnsweringWords {
  /** A voicemail greeting, or the network's announcement that no one is available. */
  readonly machine: readonly string[];
  /** A phone menu. */
  readonly menu: readonly string[];
  /** A person, however much is said. */
  readonly human: readonly string[];
  /** The names of the digits. */
  readonly digits: readonly string[];
}

/**
 * All languages at once: a caller abroad cannot know which one will be spoken. Case, accents and punctuation do not
 * matter.
 */
const languages = (): readonly AnsweringWords[] => [
  {
    digits: ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'],
    machine: [
      ...['leave a message', 'leave your message', 'leave me a message', 'leave us a message', 'leave your name'],
      ...['leave a brief message', 'leave a short message', 'leave a detailed message', 'leave a voicemail'],
      ...['after the tone', 'after the beep', 'at the tone', 'at the beep', 'record your message', 'voicemail'],
      ...['voice mail', 'mailbox', 'answering machine', 'not available', 'unavailable', "can't come to the phone"],
      ...["can't take your call", 'cannot take your call', 'unable to take your call', 'unable to answer'],
      ...[
        'missed your call',
        'get back to you',
        'return your call',
        'number you have dialed',
        'number you have dialled',
      ],
    ],
    menu: [
      ...['press #', 'press the # key', 'press star', 'press pound', 'press hash', 'press any key', 'dial #'],
      ...['main menu', 'following options', 'menu options', 'listen carefully', 'for more options', 'enter your'],
    ],
    human: [
      ...['how can i help', 'how may i help', 'can i help you', 'who is this', "who's this", 'who is calling'],
      ...["who's calling", 'may i ask', 'speaking how', 'this is he', 'this is she'],
    ],
  },
  {
    digits: ['null', 'eins', 'zwei', 'zwo', 'drei', 'vier', 'fünf', 'sechs', 'sieben', 'acht', 'neun'],
    machine: [
      ...['nach dem ton', 'nach dem signalton', 'nach dem piepton', 'nach dem piep', 'hinterlassen sie', 'mailbox'],
      ...['nachricht hinterlassen', 'hinterlasse eine nachricht', 'hinterlass eine nachricht', 'anrufbeantworter'],
      ...['nicht erreichbar', 'nicht zu erreichen', 'nicht verfügbar', 'nicht ans telefon', 'rufe zurück'],
      ...['sprachbox', 'gewünschte gesprächspartner', 'gewählte rufnummer'],
    ],
    menu: [
      ...['drücken sie #', 'drücken sie die #', 'drücken sie bitte die #', 'drücken sie die taste', 'taste #'],
      ...['wählen sie #', 'wählen sie die #', 'wählen sie bitte die #', 'hauptmenü', 'rautetaste', 'sterntaste'],
      ...['folgenden optionen', 'geben sie ihre'],
    ],
    human: [
      ...['wie kann ich ihnen helfen', 'wie kann ich helfen', 'was kann ich für sie tun', 'wer ist da', 'wer spricht'],
      ...['am apparat', 'mit wem spreche ich'],
    ],
  },
  {
    digits: ['cero', 'uno', 'dos', 'tres', 'cuatro', 'cinco', 'seis', 'siete', 'ocho', 'nueve'],
    machine: [
      ...['deje un mensaje', 'deje su mensaje', 'deja un mensaje', 'deja tu mensaje', 'dejar un mensaje'],
      ...['dejar su mensaje', 'deje su nombre', 'después del tono', 'después de la señal', 'después del pitido'],
      ...['al oír la señal', 'grabe su mensaje', 'buzón de voz', 'buzón', 'contestador', 'no está disponible'],
      ...['no se encuentra disponible', 'no puede atender', 'no puedo atender', 'fuera de cobertura'],
    ],
    menu: [
      ...['pulse #', 'pulse el #', 'presione #', 'presione el #', 'marque #', 'marque el #', 'oprima #', 'oprima el #'],
      ...['pulse la tecla', 'oprima la tecla', 'tecla numeral', 'menú principal', 'siguientes opciones'],
    ],
    human: [
      ...['en qué puedo ayudar', 'en qué le puedo ayudar', 'en qué puedo servir', 'quién habla', 'quién llama'],
      ...['de parte de quién', 'quién es'],
    ],
  },
  {
    digits: ['zéro', 'un', 'deux', 'trois', 'quatre', 'cinq', 'six', 'sept', 'huit', 'neuf'],
    machine: [
      ...['laissez un message', 'laissez-moi un message', 'laissez votre message', 'laissez-nous un message'],
      ...['laisser un message', 'laisser votre message', 'après le bip', 'après le signal', 'après la tonalité'],
      ...['messagerie', 'boîte vocale', 'répondeur', "n'est pas disponible", 'pas disponible', 'injoignable'],
      ...['ne peut pas vous répondre', 'ne peux pas vous répondre', 'ne pouvons pas vous répondre'],
    ],
    menu: [
      ...['appuyez sur #', 'appuyez sur le #', 'appuyez sur la touche', 'tapez #', 'tapez le #', 'faites le #'],
      ...['composez le #', 'menu principal', 'touche dièse', 'touche étoile', 'choix suivants'],
    ],
    human: [
      ...['comment puis-je vous aider', 'en quoi puis-je vous aider', 'que puis-je faire pour vous'],
      ...["qui est à l'appareil", "c'est de la part de qui", 'qui est-ce'],
    ],
  },
  {
    digits: ['zero', 'uno', 'due', 'tre', 'quattro', 'cinque', 'sei', 'sette', 'otto', 'nove'],
    machine: [
      ...['lasciare un messaggio', 'lasciate un messaggio', 'lascia un messaggio', 'lasci un messaggio'],
      ...['lasciare il messaggio', 'dopo il segnale', 'dopo il bip', 'dopo il tono', 'segreteria', 'casella vocale'],
      ...['non è raggiungibile', 'al momento raggiungibile', 'non è disponibile', 'non posso rispondere'],
      ...['non può rispondere', 'non possiamo rispondere'],
    ],
    menu: [
      ...['prema #', 'premi #', 'premere #', 'prema il tasto', 'premi il tasto', 'premere il tasto', 'digiti #'],
      ...['digita #', 'digitare #', 'digiti il', 'menu principale', 'seguenti opzioni', 'tasto cancelletto'],
    ],
    human: ['come posso aiutar', 'in cosa posso', 'chi parla', 'con chi parlo', 'chi è che parla', 'mi dica'],
  },
  {
    digits: ['zero', 'um', 'dois', 'três', 'quatro', 'cinco', 'seis', 'sete', 'oito', 'nove'],
    machine: [
      ...['deixe uma mensagem', 'deixe sua mensagem', 'deixe a sua mensagem', 'deixe seu recado', 'deixe o seu recado'],
      ...['deixar uma mensagem', 'deixe um recado', 'após o sinal', 'depois do sinal', 'após o bip', 'depois do bip'],
      ...['caixa postal', 'correio de voz', 'caixa de mensagens', 'grave a sua mensagem', 'grave seu recado'],
      ...['não está disponível', 'não pode atender', 'não posso atender', 'não podemos atender', 'indisponível'],
      ...['secretária eletrônica', 'atendedor de chamadas', 'fora da área'],
    ],
    menu: [
      ...[
        'pressione #',
        'pressione a tecla',
        'prima #',
        'prima a tecla',
        'tecle #',
        'digite #',
        'disque #',
        'aperte #',
      ],
      ...['marque #', 'menu principal', 'seguintes opções', 'tecla cardinal', 'jogo da velha'],
    ],
    human: [
      'em que posso ajudar',
      'como posso ajudar',
      'posso ajudar',
      'quem fala',
      'quem está falando',
      'quem é que fala',
    ],
  },
  {
    digits: [
      'いち',
      '一',
      '二',
      'に',
      '三',
      'さん',
      '四',
      'よん',
      '五',
      'ご',
      '六',
      'ろく',
      '七',
      'なな',
      '八',
      'はち',
      '九',
      '零',
    ],
    machine: [
      ...[
        '留守番電話',
        '留守電',
        'メッセージをお預かり',
        'メッセージを録音',
        'メッセージをどうぞ',
        'メッセージをお願い',
      ],
      ...[
        '発信音の後',
        '発信音のあと',
        'ピーという',
        'ピーっという',
        '電話に出ることができません',
        '電話に出られません',
      ],
      ...['電源が入っていない', '電波の届かない', 'ご用件をお話', '伝言をお預かり'],
    ],
    menu: [
      '#を押',
      '#番を押',
      '#をプッシュ',
      'ボタンを押',
      'シャープを押',
      '米印を押',
      'こめじるしを押',
      'お選びください',
    ],
    human: ['どちら様', 'どちらさま', 'どなた', 'ご用件を伺', 'いかがなさいましたか', 'もしもしどちら'],
  },
  {
    digits: ['零', '一', '二', '三', '四', '五', '六', '七', '八', '九'],
    machine: [
      ...['留言', '语音信箱', '語音信箱', '语音邮箱', '提示音后', '提示音後', '嘀声后', '滴声后', '哔声后', '嗶聲後'],
      ...['信号声后', '无法接通', '無法接通', '无法接听', '無法接聽', '无人接听', '無人接聽', '已关机', '已關機'],
    ],
    menu: ['请按', '請按', '按#', '按井号', '按井字', '按星号', '主菜单', '主選單', '转人工'],
    human: ['哪位', '请问您是', '請問您是', '您是谁', '你是谁', '有什么可以帮', '有什麼可以幫', '请讲', '請講'],
  },
  {
    digits: ['शून्य', 'एक', 'दो', 'तीन', 'चार', 'पाँच', 'पांच', 'छह', 'छः', 'सात', 'आठ', 'नौ'],
    machine: [
      ...['संदेश छोड़', 'मैसेज छोड़', 'संदेश रिकॉर्ड', 'बीप के बाद', 'टोन के बाद', 'वॉइसमेल', 'वॉयसमेल', 'वॉइस मेल'],
      ...['उपलब्ध नहीं', 'स्विच ऑफ', 'स्विच्ड ऑफ', 'पहुंच से बाहर', 'कवरेज क्षेत्र से बाहर', 'उत्तर नहीं दे'],
    ],
    menu: ['# दबाएं', '# दबाएँ', '# दबाइए', '# दबाये', '# डायल', 'बटन दबा', 'मुख्य मेनू', 'विकल्प चुन'],
    human: ['कौन बोल', 'आप कौन', 'क्या मदद', 'कैसे मदद', 'क्या सहायता', 'कैसे सहायता'],
  },
  {
    digits: ['صفر', 'واحد', 'اثنين', 'اثنان', 'ثلاثة', 'أربعة', 'خمسة', 'ستة', 'سبعة', 'ثمانية', 'تسعة'],
    machine: [
      ...['اترك رسالة', 'ترك رسالة', 'اترك رسالتك', 'ترك رسالتك', 'بعد الصافرة', 'بعد سماع الصافرة', 'بعد النغمة'],
      ...['بعد سماع النغمة', 'بعد الإشارة', 'البريد الصوتي', 'غير متاح', 'غير متوفر', 'الهاتف مغلق', 'مغلق حاليا'],
      ...['لا يمكن الوصول', 'المجيب الآلي', 'لا يمكنني الرد', 'لا أستطيع الرد', 'تسجيل رسالتك'],
    ],
    menu: [
      ...['اضغط #', 'اضغط على #', 'اضغط رقم', 'اضغط الرقم', 'اضغط على الرقم', 'اضغط على رقم', 'القائمة الرئيسية'],
      ...['الخيارات التالية', 'اضغط النجمة', 'اضغط المربع'],
    ],
    human: [
      'كيف يمكنني مساعدتك',
      'كيف أستطيع مساعدتك',
      'كيف أقدر أساعدك',
      'من معي',
      'من المتصل',
      'من يتكلم',
      'مين معي',
    ],
  },
];

/** How often each kind of phrase occurs in a text. */
export interface AnsweringWordCount {
  readonly machine: number;
  readonly menu: number;
  readonly human: number;
}

type Kind = keyof AnsweringWordCount;

/** More than is ever said before it is clear who it is, in characters. */
const maxLength = 4_096;

let patterns: Readonly<Record<Kind, RegExp>> | undefined;

/** Counts the phrases of machines, menus and people in what was said, in any of the ten languages. */
export function countAnsweringWords(said: string): AnsweringWordCount {
  patterns ??= { machine: patternOf('machine'), menu: patternOf('menu'), human: patternOf('human') };
  const { machine, menu, human } = patterns;
  const text = ` ${spelled(said.slice(0, maxLength))}`;
  const count = (pattern: RegExp): number => [...text.matchAll(pattern)].length;
  return { machine: count(machine), menu: count(menu), human: count(human) };
}

/** Phrases begin where a word begins; in scripts without spaces, anywhere. */
function patternOf(kind: Kind): RegExp {
  const alternatives = languages().flatMap((words) => {
    const names = words.digits.map(spelled).join('|');
    return words[kind].map((phrase) => {
      const literal = spelled(phrase.replaceAll('#', '0')).replaceAll('0', `(?:\\p{Nd}|${names})`);
      return /^[a-z0-9(]/.test(literal) && !isJoined.test(literal) ? ` ${literal}` : literal;
    });
  });
  return new RegExp(alternatives.join('|'), 'gu');
}

const isJoined = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Arabic}\p{Script=Devanagari}]/u;

/** Spellings vary: accents, the hamza, the dot below. */
function spelled(text: string): string {
  return foldText(text)
    .normalize('NFD')
    .replace(/[\u0300-\u036f\u064b-\u0655\u093c]/g, '')
    .normalize('NFC');
}
