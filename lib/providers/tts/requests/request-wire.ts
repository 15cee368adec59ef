import type { Observable } from 'rxjs';
import type { AudioMetadata } from '../../../audio/types.ts';
import type { WireValue } from '../../../core/config-rule.ts';
import type { Query } from '../../../core/remote-provider.ts';
import type { WireObject } from '../../../core/guard.ts';
import type { Step } from '../../../stream/fold.ts';
import type { Markup } from '../../../text/markup.ts';
import type { HttpRequestHeaders, HttpResponse } from '../../../transport/http.ts';
import type { SynthesisEvent } from '../utterance.ts';
import type { TTSConfig, VoiceErrors, VoiceService, WireErrors } from '../voice-service.ts';

/** Configuration of every text-to-speech provider over HTTP. */
export interface RequestTTSConfig extends TTSConfig {
  /** Additional fields of each synthesis request, under the service's own names; these take precedence. Default: none. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Most simultaneous requests, across all texts. Default: as the service's smallest plan allows. */
  readonly concurrency?: number;
  /** Longest wait in `synthesize()` and `finalize()` for a request's first audio, in milliseconds. Default: 60,000. */
  readonly requestTimeoutMs?: number;
}

/** A service's request for one text. */
export interface SpeechRequest {
  readonly path: string;
  readonly query?: Query;
  /** In addition to the credential's. */
  readonly headers?: HttpRequestHeaders;
  readonly json?: unknown;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
}

/** How to read a response of JSON objects: one, one per line, or server-sent events. */
export interface ObjectReading<S, E = SynthesisEvent> {
  readonly start: S;
  /** Reads an object: the next state, and its events. Pure. */
  readonly read: (state: S, message: WireObject) => Step<S, E>;
  /** The remaining events at the end; throws if the end comes too early. Default: none. */
  readonly end?: (state: S) => readonly E[];
}

/** Reads the body of a response. */
export interface AnswerReader {
  /** As audio. */
  audio(response: HttpResponse): Observable<SynthesisEvent>;
  /** As one JSON object (empty for any other JSON value); a body of another kind is audio. */
  object<E>(response: HttpResponse, read: (answer: WireObject) => readonly E[]): Observable<E | SynthesisEvent>;
  /** As JSON objects; skips anything else with a warning. */
  objects<S, E = SynthesisEvent>(response: HttpResponse, reading: ObjectReading<S, E>): Observable<E>;
  /** As a JSON value, of at most so many bytes. */
  json(response: HttpResponse, limit?: number): Observable<unknown>;
  /** As text. */
  text(response: HttpResponse): Observable<string>;
}

/** What a wire's functions get from their provider. */
export interface RequestContext<C> extends WireErrors {
  /** The current configuration. */
  readonly config: Readonly<C>;
  /** The configuration in the service's terms, as the wire's rules say. */
  readonly parameters: Record<string, WireValue>;
  /** The format of the audio. */
  readonly format: AudioMetadata;
  /** Logs a warning, once per text. */
  readonly warn: (text: string) => void;
  /** Logs what may quote the user, at level debug. */
  readonly note: (text: string) => void;
  /** Reads answers: their code is not in the page of a wire that is never spoken with. */
  readonly answers: AnswerReader;
  /** Fetches a file that an answer names by absolute URL, without the credential; only from `fileHosts`. */
  download(address: string): Observable<HttpResponse>;
}

/** What a wire gets for requests of its own. */
export interface ExchangeContext<C> extends RequestContext<C> {
  /** Sends a request, with its credential, without retries. */
  ask(request: SpeechRequest): Observable<HttpResponse>;
}

/** A key of the configuration that names a compressed format by default, unless the output needs samples. */
export interface OpenFormat {
  readonly key: string;
  /** The format of samples, raw or WAV; if possible, one that arrives while it is made. */
  readonly samples: string;
}

/** What is known of a text-to-speech service over HTTP before anybody speaks with it. */
export interface RequestService<C> extends VoiceService<C> {
  /** A format that may be left open. Default: none. */
  openFormat?(config: C): OpenFormat;
}

/** How requests are built and answers read. */
export interface RequestDialect<C> extends VoiceErrors<C> {
  /** The request for one text. */
  request(text: string, context: RequestContext<C>): SpeechRequest | Promise<SpeechRequest>;
  /** Reads the response. Default: the body, as audio. */
  read?(response: HttpResponse, context: RequestContext<C>): Observable<SynthesisEvent>;
  /** Adds to the events of one text's answer what further requests tell. Default: nothing. */
  exchange?(text: string, events$: Observable<SynthesisEvent>, context: ExchangeContext<C>): Observable<SynthesisEvent>;
  /** The headers that carry the credential. Default: Authorization. */
  credential?(key: string, config: C): HttpRequestHeaders;
  /** The headers that sign a request, for a service whose credential is not sent. */
  sign?(request: SpeechRequest, url: URL, extraHeaders: Readonly<Record<string, string>>): Promise<HttpRequestHeaders>;
  /** Hosts of the files that answers name, over https. Default: only what answers the requests. */
  readonly fileHosts?: RegExp;
  /** The service's limit of simultaneous requests per account. Default: none. */
  readonly concurrency?: number;
  /** Simultaneous requests for one text. Default: 2, so that one is heard while the next is made. */
  readonly lookahead?: number;
  /** Length of one character as the service counts. Default: 1. */
  lengthOf?(character: string): number;
  /** How to split a text in a markup language and find its words. Default: no markup. */
  markupOf?(text: string, config: C): Markup | undefined;
}

/** A text-to-speech service over HTTP. */
export interface RequestWire<C> extends RequestService<C>, RequestDialect<C> {}

/** A service whose dialect is code that a page loads when it is needed. */
export interface LateRequestWire<C> extends RequestService<C> {
  /** Loads it; awaited by `initialize()`. */
  load(this: void, name: string): Promise<RequestDialect<C>>;
}
