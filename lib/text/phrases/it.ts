import type { Phrases } from '../phrases.ts';

/** Italian. */
export const phrases: Phrases = {
  language: 'it',
  codeNotice: 'Ecco il codice.',
  commands: [
    ...['stop', 'fermati', 'si fermi', 'ferma', 'fermo', 'basta', 'basta così', 'aspetta', 'aspetti'],
    ...['aspetta un attimo', 'aspetti un attimo', 'aspetta un momento', 'aspetti un momento', 'un attimo'],
    ...['un attimo solo', 'un momento', 'un secondo', 'un minuto', 'momento', 'attimo', 'annulla', 'annulli'],
    ...['cancella', 'pausa', 'silenzio', 'zitto', 'zitta', 'stai zitto', 'stai zitta', 'sufficiente', 'lascia stare'],
    ...['lasci stare', 'lascia perdere', 'lasci perdere', 'aspetta per favore', 'per favore aspetta'],
    ...['fermati per favore'],
  ],
  backchannels: [
    ...['sì', 'si', 'già', 'ok', 'okay', 'va bene', 'bene', 'certo', 'certamente', 'esatto', 'esattamente', 'giusto'],
    ...['capito', 'ho capito', 'capisco', 'ah', 'ah sì', 'oh', 'eh', 'ehm', 'uhm', 'mh', 'mhm', 'mm', 'hm', 'hmm'],
    ...['aha', "d'accordo", 'perfetto', 'ottimo', 'benissimo', 'sicuro', 'infatti', 'appunto', 'ecco', 'chiaro'],
    ...['come no', 'allora'],
  ],
};
