/** Slow: each case watches for a while for what must not come. */
import {
  concat,
  concatMap,
  defer,
  delay,
  from,
  ignoreElements,
  map,
  NEVER,
  Observable,
  of,
  Subject,
  timer,
} from 'rxjs';
import type { ObservableInput } from 'rxjs';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../../../lib/audio/types.ts';
import { Provider } from '../../../lib/core/provider.ts';
import type {
  InputProvider,
  PlaybackEvent,
  SpeechEvent,
  STTProvider,
  TranscriptionResult,
} from '../../../lib/core/roles.ts';
import { Capture } from '../../../lib/playback/capture.ts';
import { PacedOutput } from '../../../lib/playback/paced-output.ts';
import { Playout } from '../../../lib/playback/playout.ts';
import { inputContract, outputContract } from '../../../lib/testing/contracts/input-and-output.ts';
import { ttsContract } from '../../../lib/testing/contracts/model-and-voice.ts';
import { sttContract } from '../../../lib/testing/contracts/stt-contract.ts';
import { FakeTTS } from '../../../lib/testing/fakes.ts';
import { audioToText, textAudioFormat, textToAudio } from '../../../lib/testing/text-audio.ts';
import { describeContract, quick } from './break.ts';

/** Rules whose faults the language model's spec has: the cases are the same code. */
const ofAll = (name: string): boolean =>
  !name.includes(':')
    ? /^(says|is ready|has one stream|fails)/.test(name)
    : /nothing happens until|everybody hears|unsubscribing cancels|dispose\(\) ends|two at once/.test(name);

const voiceFaults = {
  'says later what was cut off': 'speak(): what comes late of a cancelled one goes nowhere',
  'gives no utterance': 'speak(): audio has its utterance, and first its format',
  'reads on': 'speak(): unsubscribing lets go of the text that it reads',
} as const;
type VoiceFault = keyof typeof voiceFaults;

function voiceWith(fault?: VoiceFault): FakeTTS {
  let late: AudioChunk[] = [];
  class Voice extends FakeTTS {
    override speak(text$: ObservableInput<string>): Observable<AudioChunk> {
      // It sounds on for a while after its words.
      const told$ = concat(super.speak(text$), timer(3).pipe(ignoreElements()));
      if (fault === 'gives no utterance') return told$.pipe(map(({ data }) => ({ data })));
      if (fault === 'reads on') {
        return defer(() => {
          from(text$).subscribe();
          return told$;
        });
      }
      if (fault !== 'says later what was cut off') return told$;
      return new Observable((observer) => {
        late.forEach((chunk) => observer.next(chunk));
        late = [];
        let isOver = false;
        observer.add(() => (late = isOver ? [] : [{ data: textToAudio('late', 1) }]));
        return told$.subscribe({
          next: (chunk) => observer.next(chunk),
          complete: () => {
            isOver = true;
            observer.complete();
          },
        });
      });
    }
  }
  return new Voice({ latencyMs: 2, msPerCharacter: 1 });
}

describeContract(
  'ttsContract',
  (fault?: VoiceFault) => ttsContract(() => voiceWith(fault), { ...quick, hear: (audio) => audioToText(audio, 1) }),
  voiceFaults,
  ofAll,
);

const hearingFaults = {
  'hears what was cancelled': 'transcribe(): what comes late of a cancelled one goes nowhere',
  'hears the other one': 'connect(): two of them never hear each other',
  'loses what came early': 'sendAudio(): what is sent before connect() is heard, and nothing after disconnect()',
  'reads on': 'transcribe(): unsubscribing lets go of the audio that it reads',
} as const;
type HearingFault = keyof typeof hearingFaults;

let heardByAll: AudioChunk[] = [];

/** Hears audio that is text: an interim result at the first audio, the rest at `disconnect()`. */
class TextSTT extends Provider<object> implements STTProvider {
  override readonly name = 'TextSTT';
  override readonly roles = ['stt'] as const;
  override readonly type = 'rest';
  readonly accepts: readonly AudioFormat[] = [{ encoding: 'linear16' }];
  readonly #transcripts$ = new Subject<TranscriptionResult>();
  readonly #speech$ = new Subject<SpeechEvent>();
  #audio: AudioChunk[] = [];
  #isOpen = false;

  readonly fault: HearingFault | undefined;

  constructor(fault?: HearingFault) {
    super({});
    this.fault = fault;
  }
  get transcripts$(): Observable<TranscriptionResult> {
    return this.handOut('transcripts$', this.#transcripts$);
  }
  get speech$(): Observable<SpeechEvent> {
    return this.handOut('speech$', this.#speech$);
  }
  configureAudio(): void {
    this.#audio = [];
  }
  connect(): Promise<void> {
    if (this.fault === 'loses what came early') this.#audio = [];
    this.#isOpen = true;
    return Promise.resolve();
  }
  disconnect(): Promise<void> {
    this.#isOpen = false;
    const heard = this.fault === 'hears the other one' ? heardByAll : this.#audio;
    this.#tell(audioToText(heard, 1), true);
    this.#audio = [];
    heardByAll = [];
    return Promise.resolve();
  }
  sendAudio(chunk: AudioChunk): void {
    this.#audio.push(chunk);
    heardByAll.push(chunk);
    if (this.#isOpen && this.#audio.length === 1) this.#tell('', false);
  }
  transcribe(audio$: ObservableInput<AudioChunk>): Observable<TranscriptionResult> {
    return new Observable((observer) => {
      if (this.fault !== 'hears what was cancelled') this.#audio = [];
      this.#isOpen = true;
      observer.add(this.transcripts$.subscribe(observer));
      observer.add(this.aborted$('was disposed of').subscribe({ error: (error: unknown) => observer.error(error) }));
      const source$ = from(audio$).pipe(concatMap((chunk) => of(chunk).pipe(delay(1))));
      const reading = source$.subscribe({
        next: (chunk) => this.sendAudio(chunk),
        complete: () => void this.disconnect().then(() => observer.complete()),
      });
      if (this.fault !== 'reads on') observer.add(reading);
    });
  }
  #tell(text: string, isFinal: boolean): void {
    this.#transcripts$.next({ text, isFinal, utteranceComplete: isFinal, isPreflight: false });
  }
}

const utterance = (text: string): { audio: AudioChunk[]; text: string } => ({
  text,
  audio: text.split(/(?= )/).map((word) => ({ data: textToAudio(word, 1), metadata: textAudioFormat })),
});

describeContract(
  'sttContract',
  (fault?: HearingFault) =>
    sttContract(() => new TextSTT(fault), {
      ...quick,
      utterances: [utterance('Hello there.'), utterance('good night moon')],
    }),
  hearingFaults,
  ofAll,
);

const inputFaults = {
  'gives each listener its own': 'audio$: two listeners hear the same',
  'never waits for start()': 'audio$: nothing comes before start()',
  'goes on after stop()': 'audio$: nothing comes after stop()',
  'never pauses': 'audio$: nothing comes between pause() and resume()',
  'survives dispose()': 'audio$: nothing comes after dispose()',
  'is in another format': 'audio$: its chunks are in the format that getMetadata() returns',
  'shares its microphone': 'start(): two of them never hear each other',
  'keeps the device when stopped': 'stop() releases what it captures from',
  'keeps the device for good': 'dispose() releases what it captures from',
} as const;
type InputFault = keyof typeof inputFaults;

const shared$ = new Subject<AudioChunk>();
let devices = 0;

class ButtonInput extends Provider<object> implements InputProvider {
  override readonly name = 'ButtonInput';
  override readonly roles = ['input'] as const;
  override readonly type = 'rest';
  readonly #capture = new Capture();
  readonly #raw$ = new Subject<AudioChunk>();
  readonly #audio$: Observable<AudioChunk>;
  #device = 0;

  readonly fault: InputFault | undefined;

  constructor(fault?: InputFault) {
    super({});
    this.fault = fault;
    const isRaw = fault === 'never waits for start()' || fault === 'goes on after stop()' || fault === 'never pauses';
    if (fault === 'shares its microphone') this.#audio$ = shared$;
    else if (fault === 'survives dispose()' || isRaw) this.#audio$ = this.#raw$;
    else this.#audio$ = this.#capture.audio$;
    if (fault !== 'gives each listener its own') return;
    let listeners = 0;
    const all$ = this.#audio$;
    this.#audio$ = new Observable((observer) => (listeners++ === 0 ? all$ : NEVER).subscribe(observer));
  }
  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#audio$);
  }
  getMetadata(): AudioMetadata {
    return textAudioFormat;
  }
  press(): void {
    const sampleRate = this.fault === 'is in another format' ? 16_000 : textAudioFormat.sampleRate;
    const chunk = { data: textToAudio('x', 1), metadata: { ...textAudioFormat, sampleRate } };
    this.#capture.push(chunk);
    this.#raw$.next(chunk);
    if (this.fault === 'shares its microphone') shared$.next(chunk);
  }
  start(): Promise<void> {
    this.#capture.start();
    devices += 1 - this.#device;
    this.#device = 1;
    return Promise.resolve();
  }
  stop(): Promise<void> {
    this.#capture.stop();
    if (this.fault !== 'keeps the device when stopped') this.#release();
    return Promise.resolve();
  }
  pause(): void {
    this.#capture.pause();
  }
  resume(): void {
    this.#capture.resume();
  }
  protected override onDispose(): void {
    this.#capture.stop();
    if (this.fault !== 'keeps the device for good') this.#release();
  }
  #release(): void {
    devices -= this.#device;
    this.#device = 0;
  }
}

describeContract(
  'inputContract',
  (fault?: InputFault) =>
    inputContract(() => new ButtonInput(fault), {
      ...{ ...quick, inUse: () => devices },
      capture: (input) => input.press(),
    }),
  inputFaults,
  ofAll,
);

const outputFaults = {
  'tells later what was cut off': 'play(): what comes late of a cancelled one goes nowhere',
  'goes back': 'play(): it tells the start, then the end, and goes forward between them',
  'shares its speaker': 'play(): two of them never hear each other',
  'does not wait': 'flush() waits until what is enqueued was heard',
  'reads on': 'play(): unsubscribing lets go of the audio that it reads',
} as const;
type OutputFault = keyof typeof outputFaults;

const played$ = new Subject<PlaybackEvent>();

class SilentOutput extends PacedOutput<object> {
  override readonly name = 'SilentOutput';
  override readonly roles = ['output'] as const;
  override readonly type = 'rest';
  override readonly accepts: readonly AudioFormat[] = [{ encoding: 'mulaw', sampleRates: [8_000] }];
  protected override readonly playout = new Playout({ write: () => undefined, clear: () => undefined });
  readonly #told$ = new Subject<PlaybackEvent>();

  readonly fault: OutputFault | undefined;

  constructor(fault?: OutputFault) {
    super({});
    this.fault = fault;
    if (fault) this.playout.playback$.subscribe((event) => (this.#tells(), this.#told$).next(event));
  }
  override get playback$(): Observable<PlaybackEvent> {
    if (this.fault === 'shares its speaker') return played$;
    return this.fault ? this.#told$ : super.playback$;
  }
  override flush(): Promise<void> {
    return this.fault === 'does not wait' ? Promise.resolve() : super.flush();
  }
  override play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    if (this.fault === 'goes back') {
      return super.play(audio$).pipe(map((event, at) => ({ ...event, positionMs: 1_000 - at })));
    }
    return new Observable((observer) => {
      if (this.fault === 'reads on') from(audio$).subscribe();
      let last: PlaybackEvent['type'] = 'finished';
      if (this.fault === 'tells later what was cut off') {
        observer.add(() => {
          if (last !== 'finished') queueMicrotask(() => this.#told$.next({ type: 'finished', positionMs: 0 }));
        });
      }
      return super.play(audio$).subscribe({
        next: (event) => {
          last = event.type;
          observer.next(event);
        },
        error: (error: unknown) => observer.error(error),
        complete: () => observer.complete(),
      });
    });
  }
  #tells(): void {
    if (this.fault === 'shares its speaker') played$.next({ type: 'started', positionMs: 0 });
  }
}

describeContract(
  'outputContract',
  (fault?: OutputFault) => outputContract(() => new SilentOutput(fault), quick),
  outputFaults,
  ofAll,
);
