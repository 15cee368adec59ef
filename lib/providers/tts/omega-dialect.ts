import { catchError, EMPTY, map, type OperatorFunction, switchMap } from 'rxjs';
import { durationMs } from '../../audio/formats.ts';
import { messageOf } from '../../core/errors.ts';
import { asObject, asString } from '../../core/guard.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { incremental } from '../../stream/incremental.ts';
import { merge } from '../../stream/merge.ts';
import type { Markup } from '../../text/markup.ts';
import { isSsml, ssml } from '../../text/ssml.ts';
import { AwsSigner, type AwsSignerOptions } from '../../transport/aws-signer.ts';
import type { HttpErrorFacts, HttpFailure } from '../../transport/http-error.ts';
import type { OmegaTTSConfig } from './omega-tts.ts';
import type { RequestContext, RequestDialect, SpeechRequest } from './requests/request-wire.ts';
import type { SynthesisEvent } from './utterance.ts';
import { marksIn, wordsAt, type ByteMark } from './words/speech-marks.ts';

type Context = RequestContext<OmegaTTSConfig>;

/** What the service's error types mean beyond their status. */
const meanings: Readonly<Record<string, HttpErrorFacts>> = {
  ThrottlingException: { code: 'rate_limited', recoverable: true },
  ServiceQuotaExceededException: { code: 'quota', recoverable: false },
  ...Object.fromEntries(
    ['InvalidSignature', 'UnrecognizedClient', 'MissingAuthenticationToken', 'ExpiredToken', 'IncompleteSignature'].map(
      (name) => [`${name}Exception`, { code: 'unauthorized' as const, recoverable: false }],
    ),
  ),
};

function markupOf(text: string, { textType }: OmegaTTSConfig): Markup | undefined {
  return textType === 'ssml' || isSsml(text) ? ssml : undefined;
}

function requestFor(text: string, { config, parameters: known }: Context, output?: object): SpeechRequest {
  const { VoiceId, ...parameters } = known;
  const isMarkup = markupOf(text, config) !== undefined;
  const body = {
    ...parameters,
    ...output,
    Text: isMarkup && !isSsml(text) ? `<speak>${text}</speak>` : text,
    TextType: isMarkup ? 'ssml' : 'text',
    VoiceId,
    ...config.extraBody,
  };
  // Sends exactly the signed text; in lower case, so that the signed header replaces it.
  return { path: '/v1/speech', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** The request for word times, answered with one object per line. */
function marksRequestFor(text: string, context: Context): SpeechRequest {
  return requestFor(text, context, { OutputFormat: 'json', SampleRate: undefined, SpeechMarkTypes: ['word'] });
}

interface Marks {
  readonly type: 'marks';
  readonly marks: readonly ByteMark[];
}

/** Adds the words once everything has arrived: the last one lasts until the audio ends. */
function withWords(
  text: string,
  { config, format }: Context,
): OperatorFunction<SynthesisEvent | Marks, SynthesisEvent> {
  const written = markupOf(text, config) ? '' : text;
  return incremental(() => {
    let [bytes, marks]: [number, readonly ByteMark[]] = [0, []];
    return {
      push: (event) => {
        if (event.type === 'marks') marks = event.marks;
        if (event.type === 'audio') bytes += event.data.length;
        return event.type === 'marks' ? [] : [event];
      },
      flush: () => wordsAt(marks, written, durationMs(bytes, format)).map((word) => ({ type: 'word', ...word })),
    };
  });
}

function reasonOf({ json, headers }: HttpFailure): string | undefined {
  const { code, __type } = asObject(json) ?? {};
  const type = headers['x-amzn-errortype'] ?? asString(__type) ?? asString(code) ?? '';
  return type.split(/[:,]/, 1)[0]?.replace(/^.*#/, '');
}

/** How Amazon Polly is spoken with, by signed requests. */
export function omegaDialect(signing: AwsSignerOptions): RequestDialect<OmegaTTSConfig> {
  const signer = new AwsSigner(signing);
  return {
    // It is undocumented whether the service counts code points or UTF-16 units: the latter are never fewer.
    lengthOf: (character) => character.length,
    markupOf,
    request: (text, context) => requestFor(text, context),
    exchange: (text, events$, context) => {
      if (!context.config.wordTimings) return events$;
      const marks$ = context.ask(marksRequestFor(text, context)).pipe(
        switchMap((response) => context.answers.text(response)),
        map((lines): Marks => ({ type: 'marks', marks: marksIn(lines) })),
        // Without them, words are estimated.
        catchError((error: unknown) => {
          context.warn(`no word times: ${messageOf(error)}`);
          return EMPTY;
        }),
      );
      return merge(events$, marks$).pipe(withWords(text, context));
    },
    sign: ({ headers, body }, url, extraHeaders) => {
      // Only what AWS has signed: a proxy on the way may change the others.
      const amazons = Object.entries(extraHeaders).filter(([name]) => /^x-amz-/i.test(name));
      const sent = { 'content-type': headers?.['content-type'] ?? '', ...Object.fromEntries(amazons) };
      return signer.headers({ method: 'POST', url, headers: sent, body });
    },
    errorOf: (failure) => {
      const reason = reasonOf(failure);
      const facts: HttpErrorFacts | undefined = signer.errorOf(failure) ?? ownEntry(meanings, reason);
      return reason ? { ...facts, reason } : facts;
    },
  } satisfies RequestDialect<OmegaTTSConfig>;
}
