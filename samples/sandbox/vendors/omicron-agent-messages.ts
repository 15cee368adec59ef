import {
  anyOf,
  arrayOf,
  boolean,
  filled,
  integer,
  number,
  object,
  oneOf,
  required,
  shape,
  string,
  type Check,
} from '../validate.ts';

/** 64-bit numbers are texts, or numbers. */
const long = anyOf(integer(0), (value, path) =>
  typeof value === 'string' && /^\d+$/.test(value) ? undefined : `${path} must be an integer`,
);

const content = shape({
  role: oneOf('user', 'model'),
  parts: required(arrayOf(shape({ text: required(string) }), 1)),
});

const declaration = shape({
  ...{ name: required(filled), description: string, parameters: object, parametersJsonSchema: object },
  behavior: oneOf('BLOCKING', 'NON_BLOCKING'),
});

const transcription = shape({ languageCodes: arrayOf(filled), customVocabulary: arrayOf(filled) });

const setup = shape({
  model: required(filled),
  generationConfig: shape({
    responseModalities: arrayOf(oneOf('AUDIO', 'TEXT'), 1, 1),
    speechConfig: shape({
      voiceConfig: shape({ prebuiltVoiceConfig: shape({ voiceName: required(filled) }) }),
      languageCode: filled,
    }),
    thinkingConfig: shape({ thinkingLevel: oneOf('MINIMAL', 'LOW', 'MEDIUM', 'HIGH'), includeThoughts: boolean }),
    ...{ temperature: number(0, 2), topP: number(0, 1), topK: integer(1), maxOutputTokens: integer(1) },
  }),
  systemInstruction: shape({ role: string, parts: required(arrayOf(shape({ text: required(string) }), 1)) }),
  tools: arrayOf(shape({ functionDeclarations: required(arrayOf(declaration, 1)) })),
  realtimeInputConfig: shape({
    automaticActivityDetection: shape({
      disabled: boolean,
      startOfSpeechSensitivity: oneOf('START_SENSITIVITY_LOW', 'START_SENSITIVITY_HIGH'),
      endOfSpeechSensitivity: oneOf('END_SENSITIVITY_LOW', 'END_SENSITIVITY_HIGH'),
      ...{ prefixPaddingMs: integer(0), silenceDurationMs: integer(0) },
    }),
    activityHandling: oneOf('START_OF_ACTIVITY_INTERRUPTS', 'NO_INTERRUPTION'),
    turnCoverage: oneOf(
      ...['TURN_INCLUDES_ONLY_ACTIVITY', 'TURN_INCLUDES_ALL_INPUT', 'TURN_INCLUDES_AUDIO_ACTIVITY_AND_ALL_VIDEO'],
    ),
  }),
  sessionResumption: shape({ handle: filled }),
  contextWindowCompression: shape({ triggerTokens: long, slidingWindow: shape({ targetTokens: long }) }),
  inputAudioTranscription: transcription,
  outputAudioTranscription: transcription,
  proactivity: shape({ proactiveAudio: boolean }),
  historyConfig: shape({ initialHistoryInClientContent: boolean }),
});

const base64: Check = (value, path) =>
  typeof value === 'string' && /^[A-Za-z0-9+/]+={0,2}$/.test(value) ? undefined : `${path} must be base64`;

const nothing = shape({});

const realtimeInput = anyOf(
  shape({
    audio: required(shape({ data: required(base64), mimeType: required(oneOf('audio/pcm;rate=16000', 'audio/pcm')) })),
  }),
  shape({ activityStart: required(nothing) }),
  shape({ activityEnd: required(nothing) }),
  shape({ audioStreamEnd: required(boolean) }),
  shape({ text: required(string) }),
);

const functionResponse = shape({
  ...{ id: required(filled), name: required(filled), response: required(object) },
  ...{ scheduling: oneOf('SILENT', 'WHEN_IDLE', 'INTERRUPT'), willContinue: boolean },
});

/** What a client may send: one member. */
export const messageShapes: Readonly<Record<string, Check>> = {
  setup,
  realtimeInput,
  clientContent: shape({ turns: arrayOf(content), turnComplete: boolean }),
  toolResponse: shape({ functionResponses: required(arrayOf(functionResponse, 1)) }),
};
