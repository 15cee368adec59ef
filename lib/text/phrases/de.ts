import type { Phrases } from '../phrases.ts';

/** German. */
export const phrases: Phrases = {
  language: 'de',
  codeNotice: 'Hier ist etwas Code.',
  commands: [
    ...['stopp', 'stop', 'halt', 'halt mal', 'warte', 'warte mal', 'warten sie', 'moment', 'moment mal'],
    ...['einen moment', 'einen moment bitte', 'moment bitte', 'einen augenblick', 'augenblick', 'sekunde'],
    ...['eine sekunde', 'minute', 'eine minute', 'abbrechen', 'abbruch', 'stornieren', 'pause', 'ruhe'],
    ...['sei still', 'seien sie still', 'still', 'genug', 'das reicht', 'es reicht', 'reicht', 'schluss', 'aufhören'],
    ...['hör auf', 'hören sie auf', 'vergiss es', 'egal', 'stopp bitte', 'bitte stopp', 'bitte warten'],
    ...['warte bitte'],
  ],
  backchannels: [
    ...['ja', 'jo', 'jep', 'jap', 'ja ja', 'ja genau', 'genau', 'okay', 'ok', 'oke', 'gut', 'alles klar', 'klar'],
    ...['aha', 'ach so', 'achso', 'ach', 'ah', 'oh', 'mhm', 'mh', 'hm', 'hmm', 'mm', 'mmh', 'äh', 'ähm', 'öh'],
    ...['richtig', 'stimmt', 'verstehe', 'ich verstehe', 'verstanden', 'schön', 'super', 'toll', 'na klar'],
    ...['natürlich', 'sicher', 'in ordnung', 'eben', 'passt'],
  ],
};
