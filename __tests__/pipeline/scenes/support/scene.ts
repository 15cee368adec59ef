import {
  concat,
  firstValueFrom,
  from,
  fromEvent,
  interval,
  map,
  NEVER,
  Subject,
  take,
  takeUntil,
  throwError,
  timer,
  type Observable,
  type ObservableInput,
} from 'rxjs';
import {
  fallback,
  handoff,
  loadPhrases,
  Pipeline,
  type AudioChunk,
  type ConnectionEvent,
  type LLMEvent,
  type PipelineOptions,
  type Tool,
  type TranscriptionResult,
  type VoiceEvent,
} from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, textAudioFormat, tokensOf } from 'rxvoice/testing';
import { VoiceError } from '../../../../lib/core/errors.ts';
import { TestClock } from '../../../transport/test-clock.ts';
import { assertScript, oneForm, parseScript, seconds, type Cue, type Script } from './script.ts';
import { decisionLines, heardLines, historyLines, stretchesOf, type Stretch, type Told } from './told.ts';

/** What a script cannot say. */
export interface SceneOptions extends Partial<Omit<PipelineOptions, 'providers' | 'scheduler'>> {
  /** What `app …` lines do that are no words of the notation. */
  readonly does?: Readonly<Record<string, (pipeline: Pipeline) => void>>;
  /** Languages whose phrases are at hand. */
  readonly languages?: readonly string[];
}

/** Plays the script that follows it in virtual time, through a whole pipeline, and compares. */
export function scene(title: string, options: SceneOptions = {}): (script: TemplateStringsArray) => void {
  return ([source = '']) => {
    it(title, async () => {
      const script = parseScript(source);
      assertScript(script.lines, (await play(script, options)).lines);
    });
  };
}

/** A service over a network, whose connection can be lost. */
class RemoteSTT extends FakeSTT {
  readonly connection$: Subject<ConnectionEvent> = new Subject<ConnectionEvent>();
  /** Whether it now receives silence in place of the room's sound. */
  isDeaf = false;

  override sendAudio(chunk: AudioChunk): void {
    this.isDeaf = chunk.data.every((byte) => byte === 0);
    super.sendAudio(chunk);
  }
}

/** The sound of the room. */
const frame: AudioChunk = {
  data: new Uint8Array((textAudioFormat.sampleRate / 50) * 2).fill(1),
  metadata: textAudioFormat,
};
/** How long a word takes to say, in milliseconds. */
export const wordMs = 300;
/** How late a service tells that a voice has ended, and then what was said, in milliseconds. */
const endLagMs = 50;
const finalLagMs = 200;

/** A scene as it went. */
export interface Performance {
  readonly lines: readonly string[];
  /** What was decided when. */
  readonly decisions: readonly Told[];
  readonly heard: readonly Stretch[];
}

/** Plays a script. */
export async function play(
  script: Script,
  { does = {}, languages = [], ...options }: SceneOptions,
): Promise<Performance> {
  const clock = new TestClock();
  const { given } = script;
  const [locale = ''] = given.get('locale') ?? [];
  const [greeting] = given.get('greeting') ?? [];
  const [systemPrompt] = given.get('prompt') ?? [];
  await Promise.all([...languages, ...(locale ? [locale] : [])].map((language) => loadPhrases(language)));
  const input = new FakeInput();
  const stt = new RemoteSTT();
  const output = new FakeOutput({ scheduler: clock });
  const models = [given.get('model') ?? [], ...(given.has('backup') ? [given.get('backup') ?? []] : [])].map(
    (lines) => new FakeLLM({ scheduler: clock, answer: (_, request) => answerOf(lines[request - 1]) }),
  );
  const speakers = [given.get('voice'), ...(given.has('backup voice') ? [given.get('backup voice')] : [])].map(
    ([how = ''] = []) => new Voice(how, clock, !unspacedLanguages.test(locale)),
  );
  const [llm = new FakeLLM(), backup] = models;
  const [tts = new Voice('', clock, true), backupVoice] = speakers;
  const pipeline = new Pipeline({
    providers: [
      input,
      stt,
      backup ? fallback(llm, backup, { scheduler: clock }) : llm,
      backupVoice ? fallback(tts, backupVoice, { scheduler: clock }) : tts,
      output,
    ],
    scheduler: clock,
    ...(locale ? { locale } : {}),
    ...(greeting ? { greeting } : {}),
    ...(systemPrompt ? { systemPrompt } : {}),
    ...(given.has('tool') ? { tools: (given.get('tool') ?? []).map((line) => toolOf(line, clock)) } : {}),
    ...options,
  });
  const events: VoiceEvent[] = [];
  pipeline.events$.subscribe((event) => events.push(event));
  await pipeline.start();
  const stage: Stage = { pipeline, stt, clock, does };
  for (const cue of script.cues) clock.schedule(() => act(cue, stage), cue.atMs);
  const microphone = interval(20, clock).subscribe(() => input.push(frame));
  await clock.advance(script.endMs);
  const { items } = pipeline.history;
  const decisions = decisionLines(events);
  const heard = stretchesOf(output.heard, events);
  const lines = [
    ...script.preface,
    ...inOrder(
      script.cues.map(({ atMs, line }): Told => ({ atMs, line })),
      decisions,
      heardLines(heard),
    ),
    ...(script.hasEnd ? [`${seconds(script.endMs)} end`] : []),
    `asked: ${models.reduce((sum, { requests }) => sum + requests.length, 0)}`,
    ...(items.length > 0 ? ['history:', ...historyLines(pipeline.history)] : []),
  ].map(oneForm);
  microphone.unsubscribe();
  const disposed = pipeline.dispose();
  await clock.advance(10_000);
  await disposed;
  // Nothing outlives it.
  if (clock.pending > 0) throw new Error(`${clock.pending} timers outlive the scene`);
  return { lines, decisions, heard };
}

/** What happens, then what comes of it, then what sounds. */
function inOrder(...all: readonly (readonly Told[])[]): string[] {
  return all
    .flat()
    .sort((a, b) => a.atMs - b.atMs)
    .map(({ line }) => line);
}

/** `It is noon.`, `(stalls)`, `It is (stalls)`, `(fails)`, `(calls weather, time)`. */
function answerOf(line: string = 'I was not to be asked.'): Observable<LLMEvent> | readonly LLMEvent[] | string {
  const [, text = '', what = '', names = ''] = /^(.*?)\s*(?:\((stalls|fails|calls)\s*([\w, ]*)\))?$/.exec(line) ?? [];
  const tokens = tokensOf(text).slice(0, -1);
  if (what === 'stalls') return concat(from(tokens), NEVER);
  if (what === 'fails')
    return concat(
      from(tokens),
      throwError(() => failure()),
    );
  if (what !== 'calls') return text;
  const calls = names.split(',').map((name, index): LLMEvent => {
    return { type: 'tool-call', id: `call-${name.trim()}-${index}`, name: name.trim(), args: {}, argsText: '{}' };
  });
  return [...tokens, ...calls, { type: 'done', finishReason: 'tool-calls' }];
}

const failure = (): VoiceError => new VoiceError('The service is down', { code: 'connection', recoverable: true });

/** `weather takes 2.00, gives: sunny`, `… fails: no`; `(abort)` or `(finish)` when interrupted; `hand over to billing`. */
function toolOf(line: string, clock: TestClock): Tool {
  const [, agent] = /^hand over to (\w+)$/.exec(line) ?? [];
  if (agent) return handoff(agent);
  const [, name = '', takes = '', how, what = '', end] =
    /^(\w+) takes (\d+\.\d\d), (gives|fails): (.*?)(?: \((abort|finish)\))?$/.exec(line) ?? [];
  if (!name) throw new Error(`What tool is "${line}"?`);
  return {
    name,
    ...(end ? { onInterrupt: end as 'abort' | 'finish' } : {}),
    execute: (_, { signal }) =>
      firstValueFrom(
        timer(Number(takes) * 1_000, clock).pipe(
          map(() => {
            if (how === 'fails') throw new Error(what);
            return what;
          }),
          takeUntil(fromEvent(signal, 'abort')),
        ),
      ),
  };
}

/** Languages whose words the fake voice, which parts them at spaces, cannot time. */
const unspacedLanguages = /^(ja|th|zh)/;

/** A voice that may stall: `(stalls)` at once, or `(stalls after 1.00)` of audio. */
class Voice extends FakeTTS {
  readonly #stallsAfterMs: number;

  constructor(how: string, scheduler: TestClock, words: boolean) {
    super({ scheduler, words });
    const [, after = '0'] = /^\(stalls(?: after (\d+\.\d\d))?\)$/.exec(how) ?? [];
    this.#stallsAfterMs = how ? Number(after) * 1_000 : Infinity;
  }

  override speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    if (this.#stallsAfterMs === Infinity) return super.speak(text$);
    const bytes = this.#stallsAfterMs * 16;
    const some$ = super.speak(text$).pipe(
      take(bytes > 0 ? 1 : 0),
      map((chunk) => ({ ...chunk, data: chunk.data.slice(0, bytes) })),
    );
    return concat(some$, NEVER);
  }
}

interface Stage {
  readonly pipeline: Pipeline;
  readonly stt: RemoteSTT;
  readonly clock: TestClock;
  readonly does: NonNullable<SceneOptions['does']>;
  /** What was said last, as the service told it. */
  lastResult?: TranscriptionResult;
}

function act(cue: Cue, stage: Stage): void {
  const { who, how, text } = cue;
  if (who === 'app') application(cue, stage);
  else if (who === 'stt') service(cue, stage);
  else if (text) speak(text, /^\((\w+)\)$/.exec(how)?.[1], stage);
  else makeNoise(cue, stage);
}

/** Says something, a word in 300 ms, as a service hears it, if it may: voice, words so far, silence, all of it. */
function speak(text: string, language: string | undefined, stage: Stage): void {
  const { stt, clock } = stage;
  const parts = partsOf(text);
  const startMs = clock.now();
  const endMs = startMs + wordMs * parts.length;
  const words = parts.map((word, index) => ({
    text: word.trim(),
    startMs: startMs + wordMs * index,
    endMs: startMs + wordMs * (index + 1),
  }));
  const heard: number[] = [];
  const result = (kind: 'interim' | 'final') => ({
    ...FakeSTT.result(
      heard
        .map((index) => parts[index])
        .join('')
        .trim(),
      kind,
    ),
    metadata: { words: words.filter((_, index) => heard.includes(index)), ...(language ? { language } : {}) },
  });
  const later = (ms: number, happens: () => void) => clock.schedule(happens, ms - startMs);
  for (const [index, word] of words.entries()) {
    later(word.startMs, () => {
      if (stt.isDeaf) return;
      if (heard.length === 0) stt.hearVoice('started', word.startMs);
      heard.push(index);
    });
    later(word.endMs, () => {
      if (heard.at(-1) === index) stt.hearWords(result('interim'));
    });
  }
  const whenHeard = (happens: () => void) => () => {
    if (heard.length > 0) happens();
  };
  later(
    endMs + endLagMs,
    whenHeard(() => stt.hearVoice('ended', endMs)),
  );
  later(
    endMs + endLagMs + finalLagMs,
    whenHeard(() => stt.hearWords((stage.lastResult = result('final')))),
  );
}

/** Words with the space before them; two characters where a script writes no spaces. */
export function partsOf(text: string): string[] {
  const words = text.match(/\s*\S+/g) ?? [];
  const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
  return words.flatMap((word) => (unspaced.test(word) ? (word.match(/\s*\S{1,2}/gu) ?? []) : [word]));
}

/** `coughs`, or `makes noise for 3.00`: a voice without words. */
function makeNoise({ how, line }: Cue, { stt, clock }: Stage): void {
  const [, length] = /^makes noise for (\d+\.\d\d)$/.exec(how) ?? [];
  const ms = how === 'coughs' ? 250 : Number(length) * 1_000;
  if (!(ms > 0)) throw new Error(`What does the user do in "${line}"?`);
  const endMs = clock.now() + ms;
  stt.hearVoice('started', clock.now());
  clock.schedule(() => stt.hearVoice('ended', endMs), ms + endLagMs);
}

/** What the service tells, moment by moment. */
function service({ how, text, line }: Cue, { stt, lastResult }: Stage): void {
  switch (how) {
    case 'interim':
    case 'preflight':
    case 'final': {
      stt.hearWords(FakeSTT.result(text, how));
      return;
    }
    case 'repeats itself':
      if (lastResult) stt.hearWords(lastResult);
      return;
    case 'voice': {
      stt.hearVoice('started');
      return;
    }
    case 'silence': {
      stt.hearVoice('ended');
      return;
    }
    case 'voice again': {
      stt.hearVoice('resumed');
      return;
    }
    case 'drops': {
      stt.connection$.next({ type: 'reconnecting', attempt: 1, delayMs: 250 });
      return;
    }
    case 'returns': {
      stt.connection$.next({ type: 'connected' });
      return;
    }
    case 'is lost': {
      stt.connection$.next({ type: 'lost', error: failure() });
      return;
    }
    default:
      throw new Error(`What does the service do in "${line}"?`);
  }
}

/** What the application asks of the pipeline. */
function application({ how, text, line }: Cue, { pipeline, does }: Stage): void {
  const [, verb = how, options = ''] = /^(\w+) \((.*)\)$/.exec(how) ?? [];
  const has = (option: string): boolean => options.split(', ').includes(option);
  const own = does[text ? `${how}: ${text}` : how];
  if (own) {
    own(pipeline);
    return;
  }
  switch (verb) {
    case 'says':
      pipeline.say(text, {
        interruptible: !has('uninterruptible'),
        store: !has('not stored'),
        priority: has('urgent') ? 'high' : 'normal',
      });
      return;
    case 'sends':
      pipeline.send(text, { interrupt: !has('patient') });
      return;
    case 'interrupts': {
      pipeline.interrupt();
      return;
    }
    case 'presses': {
      pipeline.beginTurn();
      return;
    }
    case 'releases': {
      pipeline.commitTurn();
      return;
    }
    case 'cancels': {
      pipeline.cancelTurn();
      return;
    }
    case 'stops':
      void pipeline.stop({ drain: has('drain') });
      return;
    case 'mutes': {
      pipeline.mute();
      return;
    }
    case 'unmutes': {
      pipeline.unmute();
      return;
    }
    default:
      throw new Error(`What does the application do in "${line}"?`);
  }
}
