import { num, obj, objs, str, type WireObject } from '../../core/guard.ts';

/** Ticks of the wire in a millisecond: they are of 100 ns. */
const ticksPerMs = 10_000;

/** What was recognised, whether it may still change or not. */
export interface KappaPhrase {
  /** The service's word for how it went; empty for a hypothesis. */
  readonly status: string;
  readonly text: string;
  /** Where it ends, in milliseconds of the turn; NaN where nobody says. */
  readonly endMs: number;
  /** Its words, with `start` and `end` in milliseconds of the turn. */
  readonly words: readonly WireObject[];
  readonly confidence: number | undefined;
  readonly language: string | undefined;
  /** All that it may be, the best first. */
  readonly nBest: readonly WireObject[];
}

/** Reads a `speech.hypothesis`, a `speech.fragment` or a `speech.phrase`. */
export function readPhrase(body: WireObject): KappaPhrase {
  const nBest = objs(body['NBest']);
  const [best = {}] = nBest;
  const text = str(best['Display']) ?? str(best['DisplayText']) ?? str(body['DisplayText']) ?? str(body['Text']);
  return {
    status: str(body['RecognitionStatus']) ?? '',
    text: text?.trim() ?? '',
    endMs: msOf(body['Offset']) + msOf(body['Duration']),
    words: objs(best['Words']).map(({ Word: word, Offset: offset, Duration: duration, Confidence: confidence }) => {
      const start = msOf(offset);
      return { word, start, end: start + msOf(duration), confidence, speaker: body['SpeakerId'] };
    }),
    confidence: num(best['Confidence']),
    language: str(obj(body['PrimaryLanguage'])?.['Language']),
    nBest,
  };
}

/** Milliseconds of a time of the wire, where it may be a text; NaN for anything else. */
function msOf(ticks: unknown): number {
  return typeof ticks === 'number' || (typeof ticks === 'string' && ticks !== '') ? Number(ticks) / ticksPerMs : NaN;
}
