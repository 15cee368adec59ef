import type { TokenUsage } from '../core/messages.ts';
import type { AgentLatency, ProviderRole } from '../core/roles.ts';

/**
 * The latency of a turn, in milliseconds. Unknown parts are absent; the known ones add up to `total`, from the end of
 * the user's speech (or the commit, if that is unknown) to the first audible sample.
 */
export interface TurnMetrics {
  /** End of speech, on the audio's own clock, to commit. */
  readonly endpointing?: number;
  /** The part of `endpointing` until speech-to-text marked the last word as final. */
  readonly sttFinal?: number;
  /** Commit to request: work before the model is asked. */
  readonly hook?: number;
  /** Request (or commit, if the request was a preflight) to first token, without the time that tools took. */
  readonly llmFirstToken?: number;
  /** How long tools ran before the first token, or before the filler that was spoken meanwhile. */
  readonly tools?: number;
  /** First token to first speakable clause. */
  readonly aggregation?: number;
  /** First clause to first audio. */
  readonly ttsFirstAudio?: number;
  /** First audio to audible. */
  readonly outputLead?: number;
  readonly total?: number;
  /** The user's first sign to the confirmation, if this turn was interrupted. */
  readonly bargeInDetect?: number;
  /** Confirmation to the last audible sample, as reported by the output. */
  readonly bargeInCut?: number;
  /** Head start of the preflight over the commit. */
  readonly preflightLead?: number;
  /** Latencies reported by an agent's service. */
  readonly agent?: AgentLatency;
  /** Token events that were generated but never heard. */
  readonly wastedTokens?: number;
  /** Characters that were synthesized but never heard. */
  readonly wastedCharacters?: number;
  /** Audio that was synthesized but never heard, in milliseconds; absent if it is compressed. */
  readonly wastedAudio?: number;
}

/** What a session used of one service. Quantities that the service does not count, or was not used for, are absent. */
export interface ServiceUsage {
  readonly role: ProviderRole;
  /** Its name. */
  readonly provider: string;
  /** Of all requests to the model whose tokens the service has counted. */
  readonly tokens?: TokenUsage;
  /** Sent to the TTS, including text that nobody heard. */
  readonly characters?: number;
  /** Seconds of audio sent to speech-to-text. */
  readonly seconds?: number;
}
