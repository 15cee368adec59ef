import { strict as assert } from 'node:assert';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from '../../scripts/lib.mjs';
import { consumer, manifest } from './consumer.mjs';

/**
 * Everything that completion offers of `rxvoice`, types apart: an application needs it. What only the author of a provider
 * needs belongs to `rxvoice/provider`.
 */
const names = [
  'AlphaAgent',
  'AlphaFlux',
  'AlphaSTT',
  'AlphaTTS',
  'BetaSTT',
  'BrowserAudioOutput',
  'BrowserLLM',
  'BufferInput',
  'ChatVoiceC',
  'ChiTTS',
  'CompatibleLLM',
  'DeltaSTT',
  'EpsilonSTT',
  'EtaSTT',
  'FilePhrases',
  'GammaAgent',
  'GammaSTT',
  'GammaTTS',
  'History',
  'IndexedDbHistory',
  'IndexedDbPhrases',
  'IotaSTT',
  'IotaTTS',
  'KappaSTT',
  'KappaTTS',
  'LambdaSTT',
  'MeetingCallF',
  'MeetingInputD',
  'MeetingInputE',
  'MemoryHistory',
  'MemoryPhrases',
  'MicrophoneInput',
  'MuLLM',
  'NativeSTT',
  'NativeTTS',
  'NuLLM',
  'NullOutput',
  'OmegaTTS',
  'OmicronAgent',
  'OmicronLLM',
  'PageSocket',
  'PageSockets',
  'PhiTTS',
  'PhoneSocketB',
  'PhoneSocketBCalls',
  'PhoneStreamA',
  'PhoneStreamACalls',
  'PiTTS',
  'Pipeline',
  'Provider',
  'ProviderInitializationError',
  'PsiTTS',
  'Recording',
  'RemoteProvider',
  'RhoTTS',
  'SigmaTTS',
  'SqliteHistory',
  'TauTTS',
  'TextInput',
  'TextOutput',
  'TextVoice',
  'ThetaAgent',
  'ThetaLLM',
  'ThetaRealtimeSTT',
  'ThetaTTS',
  'UpsilonTTS',
  'VoiceError',
  'WebRTCInput',
  'WebRTCOutput',
  'XiLLM',
  'ZetaSTT',
  'afterGreeting',
  'agentConversation',
  'answeredBy',
  'audioDevices',
  'audioLevels',
  'background',
  'bargeIn',
  'blocklist',
  'cachedVoice',
  'callStates',
  'captions',
  'collectDigits',
  'conversation',
  'countWords',
  'createLogger',
  'defineTool',
  'eventStreams',
  'fallback',
  'foldText',
  'fromLanguageModel',
  'guard',
  'handoff',
  'hangUpTool',
  'keyBargeIn',
  'leaveMessage',
  'loadPhrases',
  'markdown',
  'mcpTools',
  'microphonePermission',
  'mixable',
  'ncco',
  'pattern',
  'personalData',
  'pressKeys',
  'pressKeysTool',
  'pronunciations',
  'publish',
  'readMeetingInputDWebhook',
  'readPhoneSocketBStatus',
  'readPhoneStreamAStatus',
  'record',
  'remember',
  'sessions',
  'sharePipeline',
  'silentLogger',
  'socketHandlers',
  'spokenForms',
  'srt',
  'ssml',
  'summarize',
  'textModel',
  'transcript',
  'turnTaking',
  'twiml',
  'unlessToolsRun',
  'verifyMeetingInputDWebhook',
  'verifyPhoneSocketBSignature',
  'verifyPhoneStreamASignature',
  'warmTransfer',
  'webVtt',
  'webmOpus',
  'withApproval',
  'withLateResults',
];

const require = createRequire(join(consumer, 'index.cjs'));

test('rxvoice exports these values and no others', () => {
  assert.deepEqual(Object.keys(require('rxvoice')).sort(), names);
});

test('rxvoice/evaluation exports these values and no others', () => {
  const exported = [
    ...['AudioLine', 'FakeLine', 'callsTool', 'endsByItself', 'evaluate', 'evaluationJson', 'evaluationPage'],
    ...['interruptions', 'latency', 'manners', 'modelCaller', 'neverCallsTool', 'neverSays', 'noErrors', 'rubric'],
    ...['says', 'scriptedCaller', 'soundsAsReported', 'understands'],
  ];
  assert.deepEqual(Object.keys(require('rxvoice/evaluation')).sort(), exported);
});

test('a name is in rxvoice or in rxvoice/provider, never in both', () => {
  const author = Object.keys(require('rxvoice/provider'));
  assert(author.includes('StreamingSTT'));
  assert.deepEqual(
    author.filter((name) => names.includes(name)),
    [],
  );
});

// scripts/check-docs.mjs asks for a documentation of everything that these export.
test('each entry is in the reference', () => {
  const { entryPoints } = JSON.parse(readFileSync(join(root, 'typedoc.json'), 'utf8'));
  const sources = Object.values(manifest.exports).flatMap((target) => target['rxvoice-source']?.slice(2) ?? []);
  assert(sources.includes('lib/index.ts'));
  assert.deepEqual(
    sources.filter((source) => !entryPoints.includes(source)),
    [],
  );
});
