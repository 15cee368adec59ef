import { finalize, map, NEVER, Observable, ReplaySubject, Subject, type Observer } from 'rxjs';
import { VoiceError } from '../../../lib/core/errors.ts';
import type { LLMEvent, Message } from '../../../lib/core/messages.ts';
import type { ProviderRole } from '../../../lib/core/roles.ts';
import { llmContract } from '../../../lib/testing/contracts/model-and-voice.ts';
import { FakeLLM } from '../../../lib/testing/fakes.ts';
import { describeContract, quick } from './break.ts';

const what = 'generate()';
const faults = {
  'has no role': 'says its name and its roles',
  'is always ready': 'is ready from initialize() to dispose(), again and again',
  'pipes its stream anew': 'has one stream of each name, however often it is read',
  'throws any error too early': 'fails before initialize() with a VoiceError, if it fails',
  'throws any error': 'fails with a VoiceError that names it',
  'says its key': 'tells nobody its credential',
  'asks at once': `${what}: nothing happens until somebody subscribes`,
  'has a silent stream': `${what}: everybody hears what its subscriber gets`,
  'goes on unheard': `${what}: unsubscribing cancels, and nothing more comes`,
  'survives dispose()': `${what}: dispose() ends it, and nothing comes afterwards`,
  'keeps its request': `${what}: unsubscribing ends it at the service`,
  'keeps its connection': `${what}: dispose() leaves nothing open at the service`,
  'says what was cut off later': `${what}: what comes late of a cancelled one goes nowhere`,
  'mixes requests up': `${what}: two at once never hear each other`,
  'never says that it is done': 'generate(): its tokens are followed by one `done`, and then the end',
} as const;
type Fault = keyof typeof faults;

/** What a test server counts, and a model that breaks one rule. */
function modelWith(fault?: Fault): { create: () => FakeLLM; failing: () => FakeLLM; inUse: () => number } {
  let open = 0;
  const key = 'canary-1';

  class Model extends FakeLLM {
    readonly #everything$ = new Subject<string>();
    #rest: readonly LLMEvent[] = [];
    #latest: readonly Message[] = [];

    readonly #isFailing: boolean;

    constructor(isFailing: boolean) {
      super({ firstTokenMs: 1, tokenMs: 1 });
      this.#isFailing = isFailing;
      if (fault === 'has no role') Object.defineProperty(this, 'roles', { value: [] satisfies ProviderRole[] });
    }
    override isReady(): boolean {
      return fault === 'is always ready' || super.isReady();
    }
    override get tokens$(): Observable<string> {
      if (fault === 'has a silent stream') return NEVER;
      if (fault === 'pipes its stream anew') return super.tokens$.pipe(map((text) => text));
      return fault === 'survives dispose()' ? this.#everything$ : super.tokens$;
    }
    protected override onInitialize(): void {
      if (fault === 'keeps its connection') open += 1;
    }
    protected override endWithDispose(subscriber: Parameters<FakeLLM['endWithDispose']>[0]): void {
      if (fault !== 'survives dispose()') super.endWithDispose(subscriber);
    }
    override generate(messages: readonly Message[]): Observable<LLMEvent> {
      if (fault === 'throws any error too early' && !this.initialized) throw new Error('too early');
      if (this.#isFailing) return this.#failure();
      const answer$ = this.#counted(super.generate(messages));
      if (fault === 'asks at once') return detached(answer$);
      if (fault === 'goes on unheard') return new Observable((observer) => detached(answer$).subscribe(observer));
      if (fault === 'never says that it is done') return only(answer$, ({ type }) => type === 'token');
      if (fault === 'survives dispose()') return this.#told(answer$);
      if (fault === 'says what was cut off later') return this.#withRest(answer$);
      return fault === 'mixes requests up' ? this.#mixed(messages) : answer$;
    }
    #failure(): Observable<LLMEvent> {
      return new Observable((observer) => {
        const told = fault === 'says its key' ? `the key ${key} is wrong` : 'the key is wrong';
        if (fault === 'throws any error') observer.error(new Error(told));
        else observer.error(new VoiceError(`FakeLLM: ${told}`, { code: 'unauthorized', provider: this.name }));
      });
    }
    #counted(answer$: Observable<LLMEvent>): Observable<LLMEvent> {
      return new Observable((observer) => {
        open += 1;
        const close = (): void => {
          if (fault !== 'keeps its request') open -= 1;
        };
        return answer$.pipe(finalize(close)).subscribe(observer);
      });
    }
    #told(answer$: Observable<LLMEvent>): Observable<LLMEvent> {
      return new Observable((observer) =>
        answer$.subscribe({
          next: (event) => {
            if (event.type === 'token') this.#everything$.next(event.text);
            observer.next(event);
          },
          complete: () => observer.complete(),
        }),
      );
    }
    #withRest(answer$: Observable<LLMEvent>): Observable<LLMEvent> {
      return new Observable((observer) => {
        let isOver = false;
        this.#rest.forEach((event) => observer.next(event));
        this.#rest = [];
        observer.add(() => (this.#rest = isOver ? [] : [{ type: 'token', text: 'late' }]));
        return answer$.subscribe({
          next: (event) => observer.next(event),
          complete: () => {
            isOver = true;
            observer.complete();
          },
        });
      });
    }
    #mixed(messages: readonly Message[]): Observable<LLMEvent> {
      return new Observable((observer: Observer<LLMEvent>) => {
        this.#latest = messages;
        return new Observable<LLMEvent>((inner) => {
          queueMicrotask(() => super.generate(this.#latest).subscribe(inner));
        }).subscribe(observer);
      });
    }
  }
  return { create: () => new Model(false), failing: () => new Model(true), inUse: () => open };
}

function detached<T>(source$: Observable<T>): Observable<T> {
  const all$ = new ReplaySubject<T>(100);
  source$.subscribe(all$);
  return all$;
}

const only = <T>(source$: Observable<T>, wanted: (value: T) => boolean): Observable<T> =>
  new Observable((observer) =>
    source$.subscribe({
      next: (value) => {
        if (wanted(value)) observer.next(value);
      },
      complete: () => observer.complete(),
    }),
  );

describeContract(
  'llmContract',
  (fault?: Fault) => {
    const { create, ...options } = modelWith(fault);
    return llmContract(create, { ...quick, ...options, credential: 'canary-1' });
  },
  faults,
);
