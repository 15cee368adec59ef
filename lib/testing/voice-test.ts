import { Subject, tap } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import { assertKnownKeys } from '../core/known-keys.ts';
import type { SpeechEvent, TranscriptionResult, VoiceActivity } from '../core/roles.ts';
import { SpeechTicket, type Command, type SayOptions, type SendOptions } from '../conversation/commands.ts';
import type { ConversationOptions, SettingsChange } from '../conversation/conversation-options.ts';
import type { ConversationPorts } from '../conversation/conversation-ports.ts';
import { conversation } from '../conversation/model-conversation.ts';
import type { VoiceEvent } from '../conversation/events.ts';
import { History } from '../conversation/history.ts';
import { changeable } from '../pipeline/pipeline-options.ts';
import { FakeLLM, FakeOutput, FakeSTT, FakeTTS, type FakeLLMConfig, type FakeTTSConfig } from './fakes.ts';
import { loadAhead } from './load-ahead.ts';
import { audioToText } from './text-audio.ts';

/** Something that happens at some point of a {@link voiceTest}. */
export type VoiceStep =
  | { readonly user: TranscriptionResult }
  | { readonly voice: SpeechEvent['type'] }
  | { readonly activity: VoiceActivity }
  | { readonly command: Command };

/** Options of a {@link voiceTest}. */
export interface VoiceTestOptions extends Partial<Omit<ConversationOptions, 'scheduler'>> {
  /** How the LLM answers, and how fast. Default: it echoes the user. */
  readonly llm?: FakeLLMConfig;
  /** How fast the TTS responds and speaks. */
  readonly tts?: FakeTTSConfig;
  /** Whether the STT reports the end of speech (`user.falls`). Default: true. */
  readonly reportsSpeechEnd?: boolean;
  /** Whether a voice detector listens (`user.voice`, `user.silence`). Default: false. */
  readonly vad?: boolean;
  /** What the STT is like. Default: it has a name, and cannot be asked to finalize. */
  readonly stt?: {
    readonly name?: string;
    /** Silence after which it ends an utterance, in milliseconds. */
    readonly pauseMs?: number;
    /** What it does when it is asked to finalize. */
    readonly finalize?: () => void;
  };
  /** Wraps the TTS, for example to inject a fault. */
  readonly wrapTTS?: (tts: FakeTTS) => ConversationPorts['tts'];
  /** Wraps the output. */
  readonly wrapOutput?: (output: FakeOutput) => ConversationPorts['output'];
  /** What happens when: step(s) by milliseconds of virtual time. */
  readonly steps: Readonly<Record<number, VoiceStep | readonly VoiceStep[]>>;
  /** When the conversation is stopped, in milliseconds of virtual time. Default: 60,000. */
  readonly untilMs?: number;
}

const optionKeys: Readonly<Record<keyof VoiceTestOptions, true>> = {
  ...changeable,
  history: true,
  hearing: true,
  agents: true,
  voices: true,
  llm: true,
  tts: true,
  reportsSpeechEnd: true,
  vad: true,
  stt: true,
  wrapTTS: true,
  wrapOutput: true,
  steps: true,
  untilMs: true,
};

/** The outcome of a {@link voiceTest}. */
export interface VoiceTestResult {
  readonly events: readonly VoiceEvent[];
  readonly history: History;
  readonly llm: FakeLLM;
  readonly tts: FakeTTS;
  readonly output: FakeOutput;
  /** What was heard, decoded from the audio. */
  readonly heardText: string;
}

/**
 * Runs a whole conversation in virtual time: the user's signals at given times, an LLM that answers by rule, and a TTS
 * and an output on the same clock.
 *
 * @throws VoiceError `configuration` for an unknown option.
 */
export function voiceTest(options: VoiceTestOptions): VoiceTestResult {
  assertKnownKeys('voiceTest', options, optionKeys);
  const testScheduler = new TestScheduler(() => undefined);
  loadAhead();
  return testScheduler.run(({ flush }) => {
    const { steps, untilMs = 60_000, history = new History(), reportsSpeechEnd = true, ...given } = options;
    const { vad = false, stt = {}, ...rest } = given;
    const {
      llm,
      tts,
      wrapTTS = (voice: FakeTTS): ConversationPorts['tts'] => voice,
      wrapOutput = (output: FakeOutput): ConversationPorts['output'] => output,
      ...conversationOptions
    } = rest;
    const scheduler = testScheduler;
    const fakes = {
      llm: new FakeLLM({ ...llm, scheduler }),
      tts: new FakeTTS({ ...tts, scheduler }),
      output: new FakeOutput({ scheduler }),
    };
    const transcripts$ = new Subject<TranscriptionResult>();
    const speech$ = new Subject<SpeechEvent>();
    const voice$ = new Subject<VoiceActivity>();
    const commands$ = new Subject<Command>();
    const events: VoiceEvent[] = [];
    const running = conversation(
      {
        llm: fakes.llm,
        tts: wrapTTS(fakes.tts),
        output: wrapOutput(fakes.output),
        transcripts$,
        speech$,
        commands$,
        reportsSpeechEnd,
        ...(vad ? { voice$ } : {}),
        ...{ sttName: stt.name ?? 'FakeSTT', sttPauseMs: stt.pauseMs, finalize: stt.finalize },
        // Positions in the captured audio are the test's own time.
        capturedAt: (positionMs) => positionMs,
      },
      { ...conversationOptions, history, scheduler },
    )
      .pipe(tap((event) => events.push(event)))
      .subscribe();
    const act = (step: VoiceStep): void => {
      if ('user' in step) transcripts$.next(step.user);
      else if ('voice' in step) speech$.next({ type: step.voice });
      else if ('activity' in step) voice$.next(step.activity);
      else commands$.next(step.command);
    };
    for (const [at, step] of Object.entries(steps)) {
      scheduler.schedule(() => {
        for (const each of Array.isArray(step) ? (step as readonly VoiceStep[]) : [step as VoiceStep]) act(each);
      }, Number(at));
    }
    scheduler.schedule(() => {
      commands$.next({ type: 'stop' });
      running.unsubscribe();
    }, untilMs);
    flush();
    return { events, history, ...fakes, heardText: audioToText(fakes.output.heard, tts?.msPerCharacter) };
  });
}

/** Steps of a {@link voiceTest}: `{ 100: user.interim('hel'), 300: user.final('hello') }`. */
export const user = {
  /** The words so far, which may change. */
  interim: (text: string, id?: string): VoiceStep => ({ user: FakeSTT.result(text, 'interim', id) }),
  /** The whole utterance: the user's turn is over. */
  final: (text: string, id?: string): VoiceStep => ({ user: FakeSTT.result(text, 'final', id) }),
  /** The user may have finished. */
  preflight: (text: string, id?: string): VoiceStep => ({ user: FakeSTT.result(text, 'preflight', id) }),
  /** The user starts speaking. */
  starts: { voice: 'started' } as VoiceStep,
  /** The user stops speaking. */
  falls: { voice: 'ended' } as VoiceStep,
  /** The voice detector hears a voice that began at a position of the audio, in milliseconds. */
  voice: (sinceMs: number): VoiceStep => ({ activity: { type: 'started', positionMs: sinceMs } }),
  /** The voice detector finds that a voice has ended at a position; `brief` was too short for a voice. */
  silence: (sinceMs: number, length?: 'brief'): VoiceStep => ({
    activity: { type: 'ended', positionMs: sinceMs, isBrief: length === 'brief' },
  }),
  /** The user continues after an announced end. */
  resumes: { voice: 'resumed' } as VoiceStep,
} as const;

/** Steps of a {@link voiceTest} taken by the application. */
export const application = {
  /** Makes the agent say something, like `Pipeline.say()`. */
  say: (text: string, options: SayOptions = {}): VoiceStep => ({
    command: { type: 'say', text$: [text], options, source: 'say', ticket: new SpeechTicket() },
  }),
  /** Sends what the user typed, like `Pipeline.send()`. */
  send: (text: string, options: SendOptions = {}): VoiceStep => ({
    command: { type: 'send', text, options, ticket: new SpeechTicket() },
  }),
  /** Changes settings, like `Pipeline.update()`. */
  updates: (changes: SettingsChange): VoiceStep => ({ command: { type: 'update', changes } }),
  /** Interrupts, opens, commits or cancels the user's turn, or stops. */
  does: (type: 'interrupt' | 'begin' | 'commit' | 'cancel' | 'stop'): VoiceStep => ({ command: { type } }),
} as const;
