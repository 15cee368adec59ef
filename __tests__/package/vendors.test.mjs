import { strict as assert } from 'node:assert';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { consumer, vendors } from './consumer.mjs';

/** Each vendor's classes: the library's name, and the vendor's. */
const names = {
  deepgram: {
    AlphaSTT: 'DeepgramSTT',
    AlphaFlux: 'DeepgramFlux',
    AlphaTTS: 'DeepgramTTS',
    AlphaAgent: 'DeepgramAgent',
  },
  assemblyai: { BetaSTT: 'AssemblyAISTT' },
  elevenlabs: { GammaSTT: 'ElevenLabsSTT', GammaTTS: 'ElevenLabsTTS', GammaAgent: 'ElevenLabsAgent' },
  soniox: { DeltaSTT: 'SonioxSTT' },
  gladia: { EpsilonSTT: 'GladiaSTT' },
  speechmatics: { ZetaSTT: 'SpeechmaticsSTT' },
  revai: { EtaSTT: 'RevAISTT' },
  openai: {
    ThetaLLM: 'OpenAILLM',
    ThetaTTS: 'OpenAITTS',
    ThetaRealtimeSTT: 'OpenAIRealtimeSTT',
    ThetaAgent: 'OpenAIAgent',
  },
  google: {
    IotaSTT: 'GoogleSTT',
    IotaTTS: 'GoogleTTS',
    OmicronLLM: 'GeminiLLM',
    OmicronAgent: 'GeminiLiveAgent',
    MeetingInputE: 'GoogleMeetInput',
  },
  azure: { KappaSTT: 'AzureSTT', KappaTTS: 'AzureTTS', MeetingCallF: 'TeamsMeetingCall' },
  aws: { LambdaSTT: 'AmazonTranscribeSTT', OmegaTTS: 'AmazonPollyTTS' },
  anthropic: { MuLLM: 'AnthropicLLM' },
  groq: { NuLLM: 'GroqLLM' },
  mistral: { XiLLM: 'MistralLLM' },
  cartesia: { PiTTS: 'CartesiaTTS' },
  speechify: { RhoTTS: 'SpeechifyTTS' },
  murf: { SigmaTTS: 'MurfTTS' },
  lmnt: { TauTTS: 'LmntTTS' },
  smallest: { UpsilonTTS: 'SmallestTTS' },
  rime: { PhiTTS: 'RimeTTS' },
  minimax: { ChiTTS: 'MiniMaxTTS' },
  fishaudio: { PsiTTS: 'FishAudioTTS' },
  twilio: { PhoneStreamA: 'TwilioPhone', PhoneStreamACalls: 'TwilioCalls' },
  vonage: { PhoneSocketB: 'VonagePhone', PhoneSocketBCalls: 'VonageCalls' },
  discord: { ChatVoiceC: 'DiscordVoice' },
  zoom: { MeetingInputD: 'ZoomMeetingInput' },
};

const require = createRequire(join(consumer, 'index.cjs'));
const library = require('rxvoice');

test('every vendor is listed', () => {
  assert.deepEqual(Object.keys(names).sort(), vendors.toSorted());
});

for (const [vendor, classes] of Object.entries(names)) {
  test(`rxvoice/${vendor} has the classes of rxvoice, under both names`, () => {
    const entry = require(`rxvoice/${vendor}`);
    for (const [own, theirs] of Object.entries(classes)) {
      assert.equal(typeof library[own], 'function', own);
      assert.equal(entry[own], library[own]);
      assert.equal(entry[theirs], library[own]);
    }
    const others = Object.entries(entry).filter(([, value]) => !Object.values(library).includes(value));
    assert.deepEqual(others, []);
  });
}

test('every provider whose name says no vendor has one that does', () => {
  const isGreek = (name) =>
    /^[A-Z][a-z]+(Realtime)?(STT|TTS|LLM|Flux|Agent)$|^(Phone|Chat|Meeting)\w+[A-F]$/.test(name);
  const named = Object.values(names).flatMap((classes) => Object.keys(classes));
  const unnamed = Object.keys(library).filter((name) => isGreek(name) && !named.includes(name));
  assert.deepEqual(unnamed, ['BrowserLLM', 'CompatibleLLM', 'NativeSTT', 'NativeTTS']);
});
