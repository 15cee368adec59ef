import * as jsonSchema from '@cfworker/json-schema';
import { useValidator } from '../stream/execute-tool.ts';
import { usePhrases } from '../text/phrases.ts';
import { phrases as ar } from '../text/phrases/ar.ts';
import { phrases as de } from '../text/phrases/de.ts';
import { phrases as es } from '../text/phrases/es.ts';
import { phrases as fr } from '../text/phrases/fr.ts';
import { phrases as hi } from '../text/phrases/hi.ts';
import { phrases as it } from '../text/phrases/it.ts';
import { phrases as ja } from '../text/phrases/ja.ts';
import { phrases as pt } from '../text/phrases/pt.ts';
import { phrases as zh } from '../text/phrases/zh.ts';

/** Has what a conversation loads when it needs it: no module arrives while the time is virtual. */
export function loadAhead(): void {
  useValidator(jsonSchema);
  usePhrases([ar, de, es, fr, hi, it, ja, pt, zh]);
}
