import { strict as assert } from 'node:assert';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { consumer } from './consumer.mjs';

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
  'GammaSTT',
  'GammaTTS',
  'History',
  'IotaSTT',
  'IotaTTS',
  'KappaSTT',
  'KappaTTS',
  'LambdaSTT',
  'MeetingCallF',
  'MeetingInputD',
  'MeetingInputE',
  'MicrophoneInput',
  'MuLLM',
  'NativeSTT',
  'NativeTTS',
  'NuLLM',
  'NullOutput',
  'OmegaTTS',
  'OmicronLLM',
  'PhiTTS',
  'PhoneSocketB',
  'PhoneStreamA',
  'PiTTS',
  'Pipeline',
  'Provider',
  'ProviderInitializationError',
  'PsiTTS',
  'Recording',
  'RemoteProvider',
  'RhoTTS',
  'SigmaTTS',
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
  'bargeIn',
  'blocklist',
  'captions',
  'conversation',
  'countWords',
  'createLogger',
  'defineTool',
  'eventStreams',
  'fallback',
  'foldText',
  'guard',
  'handoff',
  'loadPhrases',
  'markdown',
  'pattern',
  'personalData',
  'pronunciations',
  'readMeetingInputDWebhook',
  'silentLogger',
  'srt',
  'ssml',
  'textModel',
  'turnTaking',
  'unlessToolsRun',
  'verifyMeetingInputDWebhook',
  'verifyPhoneSocketBSignature',
  'verifyPhoneStreamASignature',
  'webVtt',
];

const require = createRequire(join(consumer, 'index.cjs'));

test('rxvoice exports these values and no others', () => {
  assert.deepEqual(Object.keys(require('rxvoice')).sort(), names);
});

test('a name is in rxvoice or in rxvoice/provider, never in both', () => {
  const author = Object.keys(require('rxvoice/provider'));
  assert(author.includes('StreamingSTT'));
  assert.deepEqual(
    author.filter((name) => names.includes(name)),
    [],
  );
});
