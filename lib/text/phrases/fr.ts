import type { Phrases } from '../phrases.ts';

/** French. */
export const phrases: Phrases = {
  language: 'fr',
  codeNotice: 'Voici le code.',
  commands: [
    ...['stop', 'arrête', 'arrêtez', 'arrête ça', 'arrêtez ça', 'attends', 'attendez', 'attends un peu'],
    ...['attendez un peu', 'une seconde', 'une minute', 'un instant', 'un moment', "un instant s'il vous plaît"],
    ...["un moment s'il vous plaît", 'deux secondes', 'deux minutes', 'annule', 'annulez', 'annuler', 'pause'],
    ...['silence', 'tais-toi', 'taisez-vous', 'chut', 'assez', 'ça suffit', 'suffit', 'laisse tomber'],
    ...['laissez tomber', 'peu importe', "stop s'il vous plaît", "stop s'il te plaît", "arrêtez s'il vous plaît"],
    ...["attendez s'il vous plaît"],
  ],
  backchannels: [
    ...['oui', 'ouais', 'ouaip', 'mouais', 'ok', 'okay', "d'accord", 'daccord', 'bien', 'très bien', 'bien sûr'],
    ...['exact', 'exactement', 'tout à fait', 'voilà', 'je vois', 'je comprends', 'compris', "c'est ça", 'ah'],
    ...['ah oui', 'ah bon', 'oh', 'euh', 'heu', 'hum', 'hm', 'hmm', 'mm', 'mhm', 'mmh', 'entendu', 'parfait'],
    ...['super', 'certes', 'en effet', 'effectivement', 'bon', 'ben oui', 'carrément'],
  ],
};
