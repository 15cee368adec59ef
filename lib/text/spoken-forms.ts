import { catchError, defer, from, of, type Observable, type SchedulerLike } from 'rxjs';
import { OnDemand } from '../core/on-demand.ts';
import { holdUntil } from '../stream/hold-until.ts';
import { stallTimeout } from '../stream/stall-timeout.ts';
import type { Reader, Reading } from './spoken/reader.ts';
import type { Runs } from './spoken/runs.ts';
import { PieceWriter, type SpokenPiece } from './spoken-piece.ts';
import type { TextContext, TextStage, TextTransform } from './text-transform.ts';

/** Options of {@link spokenForms}. */
export interface SpokenFormsOptions {
  /** Whether to convert texts even for voices that read out numbers and signs themselves. Default: false. */
  readonly always?: boolean;
  /** How long an answer may wait for the language to load, in milliseconds. Default: 2,000. */
  readonly loadTimeoutMs?: number;
}

/** What {@link spokenForms} returns. */
export interface SpokenForms extends TextTransform {
  /**
   * Loads the languages. Only needed without a pipeline: an answer does so by itself.
   *
   * @throws ProviderInitializationError when they cannot be loaded; a later call retries.
   */
  readonly load: () => Promise<void>;
}

/** A language, ready to read. */
interface Loaded {
  readonly reader: Reader;
  readonly createRuns: (reader: Reader) => Runs;
}

const languages = {
  ar: () => import('./spoken/ar.ts'),
  de: () => import('./spoken/de.ts'),
  en: () => import('./spoken/en.ts'),
  es: () => import('./spoken/es.ts'),
  fr: () => import('./spoken/fr.ts'),
  hi: () => import('./spoken/hi.ts'),
  it: () => import('./spoken/it.ts'),
  ja: () => import('./spoken/ja.ts'),
  pt: () => import('./spoken/pt.ts'),
  zh: () => import('./spoken/zh.ts'),
} as const;

const languageIn = (locale: string): string => locale.toLowerCase().split(/[-_]/, 1)[0] ?? '';

/**
 * Has numbers, ordinals, money, dates, times, percentages, phone numbers, mail and web addresses, abbreviations of
 * streets, units and acronyms spoken as words: "$1,234.50" as "one thousand two hundred thirty-four dollars and fifty
 * cents". Texts for a voice that does so itself (`normalizesText`) pass unchanged.
 *
 * This call starts loading the named languages. An answer waits for them for up to `loadTimeoutMs`; until a language
 * has loaded, texts are spoken as written. So are texts in any language not named here, to which `followLanguage` may
 * switch.
 *
 * @param locales - BCP 47: English, Spanish, French, German, Portuguese, Italian, Japanese, Chinese, Hindi or Arabic. The
 * region counts: `en-GB` says "one hundred and five" and reads 5/11 as a day in November.
 * @throws RangeError for an unsupported language.
 *
 * @example
 * ```ts
 * import { markdown, Pipeline, spokenForms, type AnyProvider } from 'rxvoice';
 *
 * declare const providers: AnyProvider[];
 *
 * new Pipeline({ providers, locale: 'en-GB', text: [markdown(), spokenForms('en-GB')] });
 * ```
 */
export function spokenForms(locales: string | readonly string[], options: SpokenFormsOptions = {}): SpokenForms {
  const { always = false, loadTimeoutMs = 2_000 } = options;
  const all = typeof locales === 'string' ? [locales] : [...locales];
  for (const locale of all) {
    if (!Object.hasOwn(languages, languageIn(locale))) {
      const known = Object.keys(languages).join(', ');
      throw new RangeError(`spokenForms() knows ${known}, not ${JSON.stringify(locale)}`);
    }
  }
  const loaded = new Map<string, Loaded>();
  const loading = new Map<string, Promise<void>>();
  const load = (locale: string): Promise<void> => {
    const begun =
      loading.get(locale) ??
      loadLanguage(locale).then((each) => {
        loaded.set(locale, each);
      });
    loading.set(locale, begun);
    // Whoever asks again tries again.
    begun.catch(() => loading.delete(locale));
    return begun;
  };
  const loadAll = async (): Promise<void> => {
    await Promise.all(all.map(load));
  };
  loadAll().catch(() => undefined);
  return {
    name: 'spokenForms',
    load: loadAll,
    start: ({ locale, normalizesText }) => {
      const chosen = locale === undefined ? all[0] : all.find((each) => languageIn(each) === languageIn(locale));
      const isSaid = chosen !== undefined && (always || !isNormalized(normalizesText, chosen));
      return new SpokenText(() => (isSaid ? loaded.get(chosen) : undefined));
    },
    answer: (events$, { scheduler }) =>
      defer(() => {
        if (loaded.size === new Set(all).size) return events$;
        return events$.pipe(holdUntil(waitFor(loadAll, loadTimeoutMs, scheduler)));
      }),
  };
}

/** Emits when the languages have loaded, failed to, or take too long: better said as written than not at all. */
function waitFor(load: () => Promise<void>, ms: number, scheduler: SchedulerLike): Observable<unknown> {
  return from(load()).pipe(
    stallTimeout({ firstMs: ms, scheduler }),
    catchError(() => of(undefined)),
  );
}

async function loadLanguage(locale: string): Promise<Loaded> {
  const language = languages[languageIn(locale) as keyof typeof languages];
  const code = new OnDemand('spokenForms', () =>
    Promise.all([import('./spoken/reader.ts'), import('./spoken/runs.ts'), language()]),
  );
  const [{ createReader }, { Runs }, { languageOf }] = await code.load();
  return { reader: createReader(languageOf, locale.replace(/_/g, '-')), createRuns: (reader) => new Runs(reader) };
}

function isNormalized(normalizes: TextContext['normalizesText'], locale: string = ''): boolean {
  if (typeof normalizes !== 'object') return normalizes ?? false;
  return normalizes.some((each) => languageIn(each) === languageIn(locale));
}

/** Puts a growing text into words. */
class SpokenText implements TextStage {
  readonly #language: () => Loaded | undefined;
  #runs: Pick<Runs, 'push'> | undefined;

  /** @param language - Called with the first text: a voice is ready before there is any. */
  constructor(language: () => Loaded | undefined) {
    this.#language = language;
  }

  push(text: string): SpokenPiece[] {
    return text === '' ? [] : this.#run(text, false);
  }

  flush(): SpokenPiece[] {
    return this.#run('', true);
  }

  #run(text: string, isEnd: boolean): SpokenPiece[] {
    this.#runs ??= this.#begin();
    const readings = this.#runs.push(text, isEnd);
    return readings.length > 0 ? [pieceOf(readings)] : [];
  }

  #begin(): Pick<Runs, 'push'> {
    const language = this.#language();
    return language?.createRuns(language.reader) ?? asWritten;
  }
}

const asWritten: Pick<Runs, 'push'> = { push: (written) => (written ? [{ written }] : []) };

function pieceOf(readings: readonly Reading[]): SpokenPiece {
  const writer = new PieceWriter();
  let visual = '';
  for (const { written, said = written } of readings) {
    writer.say(said, written, visual.length);
    visual += written;
  }
  return writer.take(visual);
}
