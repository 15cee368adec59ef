import type { Observable } from 'rxjs';
import type { Query } from '../../../core/remote-provider.ts';
import type { Markup } from '../../../text/markup.ts';
import type { HttpRequestHeaders, HttpResponse } from '../../../transport/http.ts';
import type { SynthesisEvent } from '../utterance.ts';
import type { TTSConfig, VoiceService, WireErrors } from '../voice-service.ts';

/** Configuration keys of every text-to-speech provider that answers requests. */
export interface RequestTTSConfig extends TTSConfig {
  /** Most requests at once, of all texts together. Default: what the service's smallest plan allows. */
  readonly concurrency?: number;
  /** Longest wait of `synthesize()` and `finalize()` for the first audio of a request, in milliseconds. Default: 60,000. */
  readonly requestTimeoutMs?: number;
}

/** What a service is asked for one text. */
export interface SpeechRequest {
  readonly path: string;
  readonly query?: Query;
  /** Beside the credential's. */
  readonly headers?: HttpRequestHeaders;
  readonly json?: unknown;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
}

/** What the functions of a wire are given of their provider. */
export interface RequestContext<C> extends WireErrors {
  /** The configuration as it is now. */
  readonly config: Readonly<C>;
  /** Writes a warning to the log, once for each text. */
  readonly warn: (text: string) => void;
  /** Writes to the log what may quote the user, at level debug. */
  readonly note: (text: string) => void;
  /** Fetches a file that an answer names by its full address, without the credential. */
  download(address: string): Observable<HttpResponse>;
}

/** A text-to-speech service that answers requests. */
export interface RequestWire<C> extends VoiceService<C> {
  /** The request for one text. */
  request(text: string, context: RequestContext<C>): SpeechRequest | Promise<SpeechRequest>;
  /** What its answer gives. Default: the body, as audio. */
  read?(response: HttpResponse, context: RequestContext<C>): Observable<SynthesisEvent>;
  /** The headers that carry the credential. Default: Authorization. */
  credential?(key: string, config: C): HttpRequestHeaders;
  /** Requests that the service takes at once from one account. Default: any number. */
  readonly concurrency?: number;
  /** Requests of one text at once. Default: 2, one is heard while the next is made. */
  readonly lookahead?: number;
  /** Length of one character as the service counts it. Default: 1. */
  lengthOf?(character: string): number;
  /** How a text is cut, and its words found, that is a document in a markup language. Default: no text is one. */
  markupOf?(text: string, config: C): Markup | undefined;
}
