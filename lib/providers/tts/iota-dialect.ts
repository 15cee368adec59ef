import { concatMap, EMPTY, of } from 'rxjs';
import { decodeBase64 } from '../../core/base64.ts';
import { asObject, asString } from '../../core/guard.ts';
import { utf8Length } from '../../text/split-text.ts';
import { isSsml, ssml } from '../../text/ssml.ts';
import type { IotaTTSConfig } from './iota-tts.ts';
import type { RequestDialect } from './requests/request-wire.ts';

/** 5,000 bytes of text as slow audio, in base64. */
const maxAnswerBytes = 96 * 1024 * 1024;

/** For `cmn-CN-Wavenet-A`, `cmn-CN`. */
function languageOf({ languageCode, voiceName = '' }: IotaTTSConfig): string {
  return languageCode ?? /^[a-z]{2,3}-[A-Z\d]{2,3}(?=-)/.exec(voiceName)?.[0] ?? 'en-US';
}

/** How Google is spoken with. */
export const iotaDialect: RequestDialect<IotaTTSConfig> = {
  lengthOf: utf8Length,
  markupOf: (text) => (isSsml(text) ? ssml : undefined),
  credential: (key, { authType }) =>
    authType === 'bearer' ? { Authorization: `Bearer ${key}` } : { 'X-goog-api-key': key },
  request: (text, { config, parameters }) => {
    const { voiceName, ssmlGender, modelName, prompt } = config;
    return {
      path: '/v1/text:synthesize',
      json: {
        input: { ...(isSsml(text) ? { ssml: text } : { text }), prompt },
        voice: { languageCode: languageOf(config), name: voiceName, ssmlGender, modelName },
        audioConfig: parameters,
      },
    };
  },
  read: (response, { answers, error }) =>
    answers.json(response, maxAnswerBytes).pipe(
      concatMap((answer) => {
        // The service omits empty fields.
        const { audioContent = '' } = asObject(answer) ?? { audioContent: null };
        const base64 = asString(audioContent);
        const data = base64 === undefined ? undefined : decodeBase64(base64);
        if (!data) throw error('the answer has no audio', { code: 'protocol', recoverable: true });
        return data.length > 0 ? of({ type: 'audio' as const, data }) : EMPTY;
      }),
    ),
  // The service reports a wrong key as an invalid request.
  errorOf: ({ reason }) => (reason === 'API_KEY_INVALID' ? { code: 'unauthorized' } : undefined),
};
