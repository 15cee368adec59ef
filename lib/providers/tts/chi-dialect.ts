import { catchError, concatMap, EMPTY, mergeMap, type Observable, of } from 'rxjs';
import { messageOf } from '../../core/errors.ts';
import { asNumber, asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import { decodeHex } from '../../core/hex.ts';
import { ownEntry } from '../../core/own-entry.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import type { HttpErrorFacts } from '../../transport/http-error.ts';
import type { HttpResponse } from '../../transport/http.ts';
import { mediaType } from '../../transport/media-type.ts';
import type { ChiFacts, ChiTTSConfig } from './chi-tts.ts';
import type { RequestContext, RequestDialect, SpeechRequest } from './requests/request-wire.ts';
import type { SynthesisEvent } from './utterance.ts';
import { wordEvent } from './words/word-event.ts';

type Context = RequestContext<ChiTTSConfig>;

const meaning = (
  codes: readonly number[],
  code: HttpErrorFacts['code'],
  recoverable: boolean = false,
): Record<string, HttpErrorFacts> => Object.fromEntries(codes.map((each) => [each, { code, recoverable }]));

/**
 * What `base_resp.status_code` means, whatever the HTTP status, which is mostly 200 (platform.minimax.io, Error codes).
 * 2056 lasts until the plan's next window of five hours.
 */
const meanings: Readonly<Record<string, HttpErrorFacts>> = {
  ...meaning([1000, 1001, 1013, 1024, 1033], 'server', true),
  ...meaning([1002, 1039, 1041, 2045], 'rate_limited', true),
  ...meaning([1004, 2049], 'unauthorized'),
  ...meaning([1008, 1028, 1030, 2056], 'quota'),
  ...meaning([1026, 1027, 1042, 2013, 20132], 'configuration'),
  ...meaning([2038, 2042, 2061], 'forbidden'),
};

/** How MiniMax is spoken with. */
export const chiDialect = (facts: ChiFacts): RequestDialect<ChiTTSConfig> =>
  ({
    // The service's own, and the storage that it uses.
    fileHosts: /^(.+\.)?(minimaxi?\.(io|cn|com|chat)|minimax-[\w-]+\.oss-[\w-]+\.aliyuncs\.com)$/,
    request: (text, context) => requestFor(text, context, facts),
    read: readAnswer,
    errorOf: ({ json }) => {
      const answer = asObject(json) ?? {};
      const code = codeOf(answer);
      if (code === undefined) return undefined;
      const message = asString(asObject(answer['base_resp'])?.['status_msg']);
      return { code: 'server', ...ownEntry(meanings, String(code)), reason: String(code), message };
    },
  }) satisfies RequestDialect<ChiTTSConfig>;

function codeOf(message: WireObject): number | undefined {
  return asNumber(asObject(message['base_resp'])?.['status_code']);
}

function requestFor(text: string, { config }: Context, facts: ChiFacts): SpeechRequest {
  const { voiceRules, audioRules, modifyRules, requestRules, formatOf, isStreamed } = facts;
  const { groupId, sampleRate = 32_000, pronunciationDict, voiceModify, wordTimings } = config;
  return {
    path: '/v1/t2a_v2',
    query: { GroupId: groupId },
    json: {
      text,
      stream: isStreamed(config),
      ...wireParameters(config, requestRules),
      // Without it, the last event repeats all the audio.
      ...(isStreamed(config) && { stream_options: { exclude_aggregated_audio: true } }),
      voice_setting: wireParameters(config, voiceRules),
      audio_setting: {
        // Raw samples do not include their rate.
        ...(formatOf(config) === 'pcm' && { sample_rate: sampleRate }),
        ...wireParameters(config, audioRules),
      },
      pronunciation_dict: pronunciationDict && { tone: pronunciationDict },
      voice_modify: voiceModify && wireParameters(config, modifyRules),
      ...(wordTimings && { subtitle_enable: true, subtitle_type: 'word' }),
    },
  };
}

/** Reads events, or one object; any other response is audio. */
function readAnswer(response: HttpResponse, context: Context): Observable<SynthesisEvent> {
  const { answers, config, error, refusal, warn } = context;
  if (!['application/json', 'text/event-stream'].includes(mediaType(response.headers))) {
    return answers.audio(response);
  }
  return answers
    .objects<boolean, SynthesisEvent | { readonly type: 'subtitles'; readonly address: string }>(response, {
      start: false,
      read: (isHeard, message) => {
        if ((codeOf(message) ?? 0) !== 0 || asObject(message['error'])) {
          throw refusal(message, response);
        }
        const data = asObject(message['data']);
        if (!data) warn('ignored a message without data');
        // The last event may repeat all the audio.
        const isRepeated = data?.['status'] === 2 && isHeard;
        const audio = decodeHex(isRepeated ? '' : (asString(data?.['audio']) ?? ''));
        if (!audio) throw error('the audio is not hexadecimal', { code: 'protocol' });
        const address = config.wordTimings ? asString(data?.['subtitle_file']) : undefined;
        return [
          isHeard || audio.length > 0,
          ...(audio.length > 0 ? [{ type: 'audio', data: audio } as const] : []),
          ...(address === undefined ? [] : [{ type: 'subtitles', address } as const]),
        ];
      },
      end: (isHeard) => {
        if (isHeard) return [];
        // Seen when the service is busy.
        throw error('the answer has no audio', { code: 'protocol', recoverable: true });
      },
    })
    .pipe(concatMap((event) => (event.type === 'subtitles' ? wordsAt(event.address, context) : of(event))));
}

/** Word times, from a file of the service; without it, words are estimated. */
function wordsAt(address: string, context: Context): Observable<SynthesisEvent> {
  return context.download(address).pipe(
    mergeMap((response) => context.answers.json(response)),
    mergeMap((segments) =>
      asObjects(segments)
        .flatMap(({ timestamped_words }) => asObjects(timestamped_words))
        .flatMap(({ word, time_begin, time_end }) => wordEvent(word, time_begin, time_end)),
    ),
    catchError((error: unknown) => {
      context.warn(`no word times: ${messageOf(error)}`);
      return EMPTY;
    }),
  );
}
