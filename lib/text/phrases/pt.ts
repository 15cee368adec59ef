import type { Phrases } from '../phrases.ts';

/** Portuguese. */
export const phrases: Phrases = {
  language: 'pt',
  codeNotice: 'Aqui está o código.',
  commands: [
    ...['para', 'pare', 'parem', 'pára', 'stop', 'espera', 'espere', 'espera aí', 'espere aí', 'peraí', 'pera'],
    ...['espera um pouco', 'espere um pouco', 'espera um momento', 'espere um momento', 'um momento'],
    ...['um momento por favor', 'um minuto', 'um segundo', 'um instante', 'só um momento', 'só um minuto'],
    ...['só um segundo', 'um minutinho', 'só um minutinho', 'cancela', 'cancele', 'cancelar', 'pausa', 'silêncio'],
    ...['quieto', 'cala a boca', 'cale-se', 'chega', 'basta', 'já chega', 'deixa', 'deixa pra lá', 'deixe para lá'],
    ...['esquece', 'esqueça', 'para por favor', 'por favor pare', 'pare por favor'],
  ],
  backchannels: [
    ...['sim', 'é', 'aham', 'ahã', 'uhum', 'uh-hum', 'ok', 'okay', 'tá', 'tá bom', 'tá certo', 'está bem'],
    ...['está bom', 'certo', 'certinho', 'isso', 'isso mesmo', 'exato', 'exatamente', 'claro', 'entendi', 'percebi'],
    ...['entendo', 'pois', 'pois é', 'pois sim', 'beleza', 'bom', 'muito bem', 'perfeito', 'ótimo', 'legal', 'ah'],
    ...['ah sim', 'oh', 'hm', 'hmm', 'mm', 'hum', 'é verdade', 'com certeza', 'sei', 'já', 'bem', 'então tá'],
  ],
};
