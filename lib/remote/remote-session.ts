import { Subscription, tap } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { DeviceEvent, InputProvider } from '../core/roles.ts';
import { pageRates, type PageCommand } from '../transport/page-wire.ts';
import type { PageOpus } from './page-opus.ts';
import { RemoteCall, type CallOptions } from './remote-call.ts';
import type { RemoteSpeaker } from './speaker.ts';

/** What a session is made of. Its devices' code may still be on its way. */
export interface SessionOptions extends Omit<CallOptions, 'microphone' | 'speaker' | 'opus' | 'onWelcome' | 'onEnd'> {
  readonly microphone: Promise<InputProvider>;
  readonly speaker: Promise<RemoteSpeaker>;
  readonly audio: 'linear16' | 'opus';
  readonly logger: Logger;
  readonly onDevice: (type: 'input.device' | 'output.device', change: DeviceEvent) => void;
  readonly onOver: (error: VoiceError) => void;
}

/** One conversation: the devices and the call. */
export class RemoteSession {
  readonly started: Promise<void>;
  /** Resolves when the devices are free. */
  readonly closed: Promise<void>;
  isRunning: boolean = false;
  readonly #options: SessionOptions;
  readonly #own = new Subscription();
  readonly #abort = new AbortController();
  #call: RemoteCall | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    const { signal } = this.#abort;
    const { microphone, speaker } = options;
    const devices = Promise.all([microphone, speaker]);
    this.started = new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(VoiceError.from(signal.reason)));
      devices.then(([input, output]) => this.#prepare(input, output, resolve)).catch(this.#fail);
    });
    // Callers that don't await it learn it from `link$`.
    this.started.catch(() => undefined);
    this.closed = new Promise((resolve) => {
      signal.addEventListener('abort', () => {
        const free = [speaker.then((output) => output.close()), microphone.then((input) => input.dispose())];
        void Promise.allSettled(free).then(() => resolve());
      });
    });
  }

  command(command: PageCommand): void {
    this.#call?.command(command);
  }

  close(error: VoiceError): void {
    this.isRunning = false;
    this.#call?.close();
    this.#own.unsubscribe();
    this.#abort.abort(error);
  }

  readonly #fail = (cause: unknown): void => this.#options.onOver(VoiceError.from(cause));

  /** Asks for permission before connecting to the server. */
  async #prepare(microphone: InputProvider, speaker: RemoteSpeaker, resolve: () => void): Promise<void> {
    const { onDevice, onError } = this.#options;
    const isOver = (): boolean => this.#abort.signal.aborted;
    if (isOver()) return;
    this.#own.add(speaker.device$?.pipe(tap((change) => onDevice('output.device', change))).subscribe());
    this.#own.add(microphone.errors$?.pipe(tap(onError)).subscribe());
    this.#own.add(microphone.device$?.pipe(tap((change) => onDevice('input.device', change))).subscribe());
    await microphone.initialize();
    const { encoding, sampleRate, channels } = microphone.getMetadata();
    if (encoding !== 'linear16' || channels !== 1 || !pageRates.includes(sampleRate)) {
      const message = 'RemotePipeline: the microphone must deliver linear16, mono, at 8, 16, 24 or 48 kHz';
      throw new VoiceError(message, { code: 'configuration' });
    }
    if (!isOver()) await microphone.start();
    const opus = await this.#openOpus(sampleRate);
    if (isOver()) return;
    this.#call = new RemoteCall({
      ...this.#options,
      ...{ microphone, speaker, opus },
      onWelcome: ({ rate, audio }, isFirst) => {
        if (!isFirst) return;
        if (opus && audio !== 'opus') this.#lacks('the server');
        this.#listen(speaker, rate).then(resolve).catch(this.#fail);
      },
      onEnd: this.#fail,
    });
    this.#call.open();
  }

  /** Only a page that asks for Opus loads its codec. */
  async #openOpus(sampleRate: number): Promise<PageOpus | undefined> {
    if (this.#options.audio !== 'opus') return undefined;
    const { openOpus } = await import('./page-opus.ts');
    const opus = await openOpus(sampleRate);
    if (!opus) this.#lacks('this browser');
    return opus;
  }

  #lacks(who: string): void {
    this.#options.logger.warn(`RemotePipeline: linear16 instead of Opus, which ${who} does not have`);
  }

  async #listen(speaker: RemoteSpeaker, rate: number): Promise<void> {
    await speaker.open(rate);
    this.isRunning = !this.#abort.signal.aborted;
  }
}
