import type { Phrases } from '../phrases.ts';

/** Spanish. */
export const phrases: Phrases = {
  language: 'es',
  codeNotice: 'Aquí tienes el código.',
  commands: [
    ...['para', 'pare', 'paren', 'párate', 'detente', 'deténgase', 'alto', 'stop', 'basta', 'ya basta', 'espera'],
    ...['espere', 'espera un momento', 'espere un momento', 'espérate', 'un momento', 'un momento por favor'],
    ...['momento', 'un segundo', 'un minuto', 'cancela', 'cancelar', 'cancele', 'pausa', 'silencio', 'cállate'],
    ...['cállese', 'suficiente', 'es suficiente', 'olvídalo', 'olvídelo', 'déjalo', 'déjelo', 'para por favor'],
    ...['por favor para', 'espera por favor', 'por favor espera'],
  ],
  backchannels: [
    ...['sí', 'si', 'sip', 'ajá', 'aja', 'ok', 'okey', 'okay', 'vale', 'bueno', 'bien', 'claro', 'claro que sí'],
    ...['exacto', 'exactamente', 'correcto', 'cierto', 'entiendo', 'ya', 'ya veo', 'ya entiendo', 'de acuerdo'],
    ...['mhm', 'mm', 'hm', 'hmm', 'mmm', 'eh', 'ah', 'oh', 'este', 'perfecto', 'muy bien', 'está bien', 'dale'],
    ...['órale', 'por supuesto', 'así es', 'eso', 'genial'],
  ],
};
