/**
 * Features that an application imports by name, each with something that its code alone contains, also minified: a
 * pipeline that does not import it may not ship that, at first or later.
 */
export const marks = {
  PageSockets: 'PageSockets: a page is refused',
  Recording: 'it is no audio',
  SqliteHistory: 'CREATE TABLE IF NOT EXISTS',
  IndexedDbPhrases: 'rxvoice-phrases',
  TextVoice: '"TextVoice"',
  answeredBy: 'que puis-je faire pour vous',
  background: 'rxvoice.mixed',
  cachedVoice: 'maxPhraseBytes',
  captions: 'lineLength',
  collectDigits: 'firstDigitMs',
  fromLanguageModel: 'the AI SDK has no field for',
  guard: 'moderation-failed',
  hangUpTool: 'hang_up',
  leaveMessage: 'silenceMs',
  mcpTools: 'the tool failed',
  personalData: '"iban"',
  pressKeysTool: 'press_keys',
  publish: 'callId may contain only',
  record: 'recording.resumed',
  remember: 'remember: call it before start()',
  sessions: 'maxSessions',
  sharePipeline: '"tokens$","captions$","metrics$"',
  spokenForms: 'spokenForms() knows',
  summarize: 'Earlier in this conversation',
  transcript: 'agentEnd',
  warmTransfer: 'transfer-',
  webVtt: 'WEBVTT',
  webmOpus: 'A_OPUS',
  withApproval: 'nobody has approved it within',
  withLateResults: 'afterMs',
};

/**
 * What every pipeline has for features that it may not import: files that serve nothing else, the chunk of `dist` that
 * brings each, which no page loads at first. `captions.ts` is not loaded before somebody subscribes to `captions$`.
 */
export const hooks = [
  {
    file: 'lib/conversation/answer/input-guards.ts',
    chunk: 'dist/conversation/model-conversation.js',
    why: 'guards judge a turn before onUserTurn and the model see it',
  },
  {
    file: 'lib/conversation/answer/captions.ts',
    chunk: 'dist/conversation/answer/captions.js',
    why: 'the words of captions$, on the clock of the playback',
  },
];
