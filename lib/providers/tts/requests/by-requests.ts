import { EMPTY, NEVER, type Observable } from 'rxjs';
import { OnDemand } from '../../../core/on-demand.ts';
import type { HttpResponse } from '../../../transport/http.ts';
import type { SynthesisEvent, UtteranceEvent, UtteranceOptions } from '../utterance.ts';
import type { Speaker, TTSCallOptions, VoiceHost, VoiceRunner } from '../voice-service.ts';
import { settleFormat } from './open-format.ts';
import type { LateRequestWire, RequestTTSConfig, RequestWire, SpeechRequest } from './request-wire.ts';
import type { SpeechRequests } from './speech-requests.ts';

/** Speaks by requests. */
export interface RequestVoice extends Speaker {
  /** Fetches JSON with a request without a body, for catalogs. Retried like any other. */
  fetchJson(request: SpeechRequest, options?: TTSCallOptions): Promise<unknown>;
  /** Reads one response. */
  read(response: HttpResponse): Observable<SynthesisEvent>;
}

/**
 * Runs the wire of a text-to-speech service over HTTP. `speak()` sends a request for each piece of its text, the next
 * one in progress while the first is heard; `synthesize()` returns it all as one file.
 */
export function byRequests<C extends RequestTTSConfig>(
  wire: RequestWire<C> | LateRequestWire<C>,
): VoiceRunner<C, RequestVoice> {
  return {
    service: wire,
    type: 'rest',
    rules: { extraBody: {}, concurrency: {}, requestTimeoutMs: {} },
    settle: settleFormat(wire),
    speaker: (host) => new RequestSpeaker(wire, host),
  };
}

class RequestSpeaker<C extends RequestTTSConfig> implements RequestVoice {
  readonly connection$: Observable<never> = NEVER;
  readonly #wire: RequestWire<C> | LateRequestWire<C>;
  readonly #host: VoiceHost<C>;
  #requests: SpeechRequests<C> | undefined;
  /** Text buffered for `finalize()`. */
  #buffer = '';

  constructor(wire: RequestWire<C> | LateRequestWire<C>, host: VoiceHost<C>) {
    this.#wire = wire;
    this.#host = host;
  }

  warm(): void {
    this.#requests?.warm();
  }

  processChunk(text: string): void {
    this.#buffer += text;
  }

  async finalize(options?: TTSCallOptions): Promise<void> {
    const text = this.#buffer;
    this.#buffer = '';
    this.#host.assertReady('finalize');
    await this.#requests?.deliver(text, options);
  }

  cancel(): void {
    this.#buffer = '';
    this.#requests?.cancel();
  }

  synthesis(pieces$: Observable<string>, options: UtteranceOptions): Observable<UtteranceEvent> {
    return this.#requests?.speak(pieces$, options) ?? EMPTY;
  }

  async synthesize(text: string, options?: TTSCallOptions): Promise<Blob> {
    return (await this.#requests?.synthesize(text, options)) ?? new Blob([]);
  }

  async fetchJson(request: SpeechRequest, options?: TTSCallOptions): Promise<unknown> {
    this.#host.assertReady('voices');
    return this.#requests?.fetchJson(request, options);
  }

  read(response: HttpResponse): Observable<SynthesisEvent> {
    return this.#requests?.read(response) ?? EMPTY;
  }

  async start(signal: AbortSignal): Promise<void> {
    // Loaded here, so that a page can render without it.
    const wire = this.#wire;
    const { name } = this.#host.provider;
    const code = new OnDemand(name, () => import('./speech-requests.ts'));
    const [{ SpeechRequests }, dialect] = await Promise.all([code.load(), 'load' in wire ? wire.load(name) : wire]);
    signal.throwIfAborted();
    this.#requests = new SpeechRequests({ ...wire, ...dialect }, this.#host);
    this.warm();
  }

  stop(): void {
    this.cancel();
    this.#requests?.close();
    this.#requests = undefined;
  }
}
