import type { Environment } from '../environment.ts';
import { isSampleEncoding } from '../pcm.ts';
import type { SampleEncoding } from '../pcm.ts';
import { respond } from '../responder.ts';
import type { Call, Turn } from '../responder.ts';
import type { Session, Upgrade } from '../session.ts';
import { Talker } from '../talker.ts';
import { IdleTimer } from '../timers.ts';
import { round, sentence, Transcriber } from '../transcriber.ts';
import { isObject, member, textMember } from '../validate.ts';
import type { SocketRoute } from '../vendor.ts';
import { checkMessage, checkSettings } from './alpha-agent-settings.ts';
import { invalidQuery } from './alpha-refusal.ts';

/** Silence that ends a turn where the listener is not Flux, in seconds. */
const usualSilence = 0.5;
const mostRounds = 5;

interface PendingCall extends Call {
  readonly id: string;
  readonly clientSide: boolean;
  /** As some of Google's models have it. */
  readonly signature?: string;
  result?: string;
}

class Agent {
  readonly #session: Session;
  readonly #environment: Environment;
  readonly #turns: Turn[] = [];
  #settings: Record<string, unknown> | undefined;
  #transcriber: Transcriber | undefined;
  #talker: Talker | undefined;
  #prompt = '';
  #think: unknown;
  #silence = usualSilence;
  #isFlux = false;
  #userSpeaks = false;
  #calls: PendingCall[] = [];
  /** Grows with each reply and each interruption: what belongs to an older one is dropped. */
  #reply = 0;
  #callCount = 0;

  constructor(session: Session, environment: Environment) {
    this.#session = session;
    this.#environment = environment;
    session.send({ type: 'Welcome', request_id: crypto.randomUUID() });
  }

  hear(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.#settings) this.#fail('NON_SETTINGS_MESSAGE_BEFORE_SETTINGS', 'Audio was sent before Settings.');
    else this.#transcriber?.push(bytes);
  }

  command(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      message = undefined;
    }
    const type = textMember(message, 'type');
    if (!this.#settings && type !== 'Settings') {
      this.#fail('NON_SETTINGS_MESSAGE_BEFORE_SETTINGS', `${type || 'A message'} was sent before Settings.`);
      return;
    }
    const wrong = type === 'Settings' ? checkSettings(message) : checkMessage(type, message);
    if (wrong) this.#fail(wrong.code, wrong.description);
    else this.#handlers[type]?.(message);
  }

  timeOut(): void {
    this.#fail('CLIENT_MESSAGE_TIMEOUT', 'We did not receive a message from the client in time.');
  }

  readonly #handlers: Readonly<Record<string, (message: unknown) => void>> = {
    Settings: (message) => this.#apply(message),
    KeepAlive: () => undefined,
    UpdatePrompt: (message) => {
      // Adds to the prompt, after the message's own page of the docs.
      this.#prompt = [this.#prompt, textMember(message, 'prompt')].filter(Boolean).join('\n');
      this.#session.send({ type: 'PromptUpdated' });
    },
    UpdateThink: (message) => {
      this.#useThink(member(message, 'think'));
      this.#session.send({ type: 'ThinkUpdated' });
    },
    UpdateSpeak: () => this.#session.send({ type: 'SpeakUpdated' }),
    UpdateListen: (message) => {
      this.#useListen(member(message, 'listen'));
      this.#session.send({ type: 'ListenUpdated' });
    },
    InjectUserMessage: (message) => this.#userSaid(textMember(message, 'content')),
    InjectAgentMessage: (message) =>
      this.#inject(textMember(message, 'message'), textMember(message, 'behavior') || 'default'),
    FunctionCallResponse: (message) => this.#answerCall(message),
    ForceEndTurn: () => {
      if (this.#isFlux) this.#endTurn();
      else this.#warn('FORCE_END_TURN_UNSUPPORTED', 'ForceEndTurn needs a Flux listen model.');
    },
  };

  #apply(message: unknown): void {
    if (this.#settings) {
      this.#fail('SETTINGS_ALREADY_APPLIED', 'Settings can be sent once only.');
      return;
    }
    this.#settings = isObject(message) ? message : {};
    const audio = member(message, 'audio');
    const agent = member(message, 'agent');
    const format = (side: string): { encoding: SampleEncoding; sampleRate: number } => {
      const encoding = member(member(audio, side), 'encoding');
      const sampleRate = Number(member(member(audio, side), 'sample_rate') ?? 24000);
      return { encoding: isSampleEncoding(encoding) ? encoding : 'linear16', sampleRate };
    };
    this.#transcriber = new Transcriber(format('input'), {
      character: () => this.#userStarted(),
      step: () => this.#step(),
    });
    this.#talker = new Talker({
      ...format('output'),
      chunkMs: 200,
      realtimeFactor: this.#environment.realtimeFactor,
      timers: this.#session.timers,
      send: (bytes) => this.#session.sendBytes(bytes),
    });
    this.#useThink(member(agent, 'think'));
    this.#useListen(member(agent, 'listen'));
    for (const each of arrayMember(member(agent, 'context'), 'messages')) {
      const role = textMember(each, 'role');
      if (role === 'user' || role === 'assistant') this.#turns.push({ role, text: textMember(each, 'content') });
      for (const past of arrayMember(each, 'function_calls')) {
        this.#turns.push({
          ...{ role: 'result', tool: textMember(past, 'name'), text: textMember(past, 'response'), failed: false },
        });
      }
    }
    this.#session.send({ type: 'SettingsApplied' });
    const greeting = textMember(agent, 'greeting');
    if (greeting) this.#say(greeting, performance.now(), 0);
  }

  #useThink(think: unknown): void {
    this.#think = Array.isArray(think) ? think[0] : think;
    this.#prompt = textMember(this.#think, 'prompt');
  }

  #useListen(listen: unknown): void {
    const provider = member(listen, 'provider');
    this.#isFlux = textMember(provider, 'model').startsWith('flux-');
    this.#silence = this.#isFlux ? Number(member(provider, 'eot_threshold') ?? 0.7) : usualSilence;
  }

  get #functions(): readonly unknown[] {
    return arrayMember(this.#think, 'functions');
  }

  #userStarted(): void {
    if (this.#userSpeaks) return;
    this.#userSpeaks = true;
    this.#interrupt();
    this.#session.send({ type: 'UserStartedSpeaking' });
  }

  #interrupt(): void {
    this.#reply++;
    this.#talker?.clear();
    if (this.#calls.length === 0) return;
    const open = this.#calls.filter(({ result }) => result === undefined);
    this.#calls = [];
    if (open.length > 0) {
      this.#session.send({ type: 'FunctionCallCancelled', functions: open.map(({ id, name }) => ({ id, name })) });
    }
  }

  #step(): void {
    if (this.#userSpeaks && (this.#transcriber?.quiet ?? 0) >= this.#silence) this.#endTurn();
  }

  #endTurn(): void {
    this.#userSpeaks = false;
    const text = sentence(this.#transcriber?.words ?? []);
    this.#transcriber?.reset();
    if (text) this.#userSaid(text);
  }

  #userSaid(text: string): void {
    this.#interrupt();
    this.#tell('user', text);
    this.#answer(performance.now(), 0);
  }

  /** Puts a text on the wire and into the history. */
  #tell(role: 'user' | 'assistant', text: string): void {
    this.#turns.push({ role, text });
    this.#session.send({ type: 'ConversationText', role, content: text });
    if (this.#keepsHistory) this.#session.send({ type: 'History', role, content: text });
  }

  get #keepsHistory(): boolean {
    return member(member(this.#settings, 'flags'), 'history') !== false;
  }

  #answer(since: number, round: number): void {
    const reply = respond({
      ...{ system: this.#prompt, turns: this.#turns, parallel: true, maxTokens: Number.POSITIVE_INFINITY, stop: [] },
      tools: this.#functions.map((each) => ({
        name: textMember(each, 'name'),
        parameters: member(each, 'parameters'),
      })),
      choice: round < mostRounds ? 'auto' : 'none',
    });
    if (reply.think) this.#session.send({ type: 'AgentThinking', content: reply.think });
    const text = reply.tokens.join('');
    const thinkSeconds = (performance.now() - since) / 1000;
    if (reply.calls.length === 0) this.#say(text, since, thinkSeconds);
    else this.#call(reply.calls, text, since, round);
  }

  #say(text: string, since: number, thinkSeconds: number): void {
    const reply = ++this.#reply;
    const talker = this.#talker;
    if (!talker) return;
    for (const part of text.match(/[^.!?]+[.!?]*\s*/g) ?? []) {
      if (part.trim()) this.#tell('assistant', part.trim());
      talker.say(part);
    }
    const latency = (): number => round((performance.now() - since) / 1000);
    if (member(this.#settings, 'experimental') === true) {
      const total = latency();
      this.#session.send({
        type: 'AgentStartedSpeaking',
        total_latency: total,
        tts_latency: 0.01,
        ttt_latency: round(thinkSeconds),
      });
    }
    const parts = {
      stt_latency: 0.1,
      ttt_token_latency: round(thinkSeconds),
      ttt_text_latency: round(thinkSeconds),
      tts_latency: 0.01,
    };
    const total = latency();
    talker.afterwards(() => {
      if (reply !== this.#reply) return;
      this.#session.send({ type: 'AgentAudioDone' });
      this.#session.send({ type: 'LatencyReport', ...parts, total_latency: total });
    });
  }

  #call(calls: readonly Call[], text: string, since: number, round: number): void {
    const reply = ++this.#reply;
    if (text) {
      this.#tell('assistant', text);
      this.#talker?.say(`${text} `);
    }
    const isSigned = textMember(member(this.#think, 'provider'), 'type') === 'google';
    this.#calls = calls.map((call) => ({
      ...call,
      id: `fc_${++this.#callCount}`,
      ...(isSigned && { signature: `signature ${this.#callCount}` }),
      clientSide: !this.#functions.some(
        (each) => textMember(each, 'name') === call.name && member(each, 'endpoint') !== undefined,
      ),
    }));
    this.#session.send({
      type: 'FunctionCallRequest',
      functions: this.#calls.map(({ id, name, args, clientSide, signature }) => ({
        ...{ id, name, arguments: JSON.stringify(args), client_side: clientSide, thought_signature: signature },
      })),
    });
    this.#whenAnswered = () => {
      if (reply !== this.#reply) return;
      for (const { name, result } of this.#calls) {
        this.#turns.push({ role: 'result', tool: name, text: result ?? '', failed: false });
      }
      if (this.#keepsHistory) this.#session.send({ type: 'History', function_calls: this.#calls.map(historyOf) });
      this.#calls = [];
      this.#answer(since, round + 1);
    };
    // The sandbox calls no addresses: a function of the server's side is answered here.
    for (const call of this.#calls.filter(({ clientSide }) => !clientSide)) {
      call.result = '{"ok":true}';
      this.#session.send({ type: 'FunctionCallResponse', id: call.id, name: call.name, content: call.result });
    }
    this.#checkAnswered();
  }

  #whenAnswered: () => void = () => undefined;

  #checkAnswered(): void {
    if (this.#calls.length > 0 && this.#calls.every(({ result }) => result !== undefined)) this.#whenAnswered();
  }

  #answerCall(message: unknown): void {
    const name = textMember(message, 'name');
    const known = this.#functions.some((each) => textMember(each, 'name') === name);
    if (!known) {
      this.#fail('NON_EXISTENT_FUNCTION_CALLED', `There is no function ${name}.`);
      return;
    }
    const call = this.#calls.find(({ id }) => id === textMember(message, 'id'));
    if (!call) {
      this.#session.call.log(`a response to the call ${textMember(message, 'id')}, which is not open: ignored`);
      return;
    }
    call.result = textMember(message, 'content');
    this.#checkAnswered();
  }

  #inject(text: string, behavior: string): void {
    const speaks = this.#talker?.busy === true;
    if (behavior === 'interrupt') this.#interrupt();
    else if (behavior === 'default' && (speaks || this.#userSpeaks)) {
      const who = speaks ? 'AGENT' : 'USER';
      this.#session.send({ type: 'InjectionRefused', message: `The ${who.toLowerCase()} is speaking.` });
      this.#warn(`INJECT_AGENT_MESSAGE_DURING_${who}_SPEECH`, 'The message was not injected.');
      return;
    }
    this.#say(text, performance.now(), 0);
  }

  #warn(code: string, description: string): void {
    this.#session.call.log(`${code}: ${description}`);
    this.#session.send({ type: 'Warning', code, description });
  }

  #fail(code: string, description: string): void {
    this.#talker?.clear();
    this.#session.send({ type: 'Error', code, description });
    this.#session.close(undefined, '', `${code}: ${description}`);
  }
}

function historyOf({ id, name, clientSide, args, result, signature }: PendingCall): unknown {
  const call = { id, name, client_side: clientSide, arguments: JSON.stringify(args) };
  return { ...call, response: result, thought_signature: signature };
}

function arrayMember(value: unknown, name: string): readonly unknown[] {
  const found = member(value, name);
  return Array.isArray(found) ? (found as unknown[]) : [];
}

/** Deepgram Voice Agent, V1: `wss://agent.deepgram.com/v1/agent/converse`. */
export const alphaAgent: SocketRoute = {
  service: 'alpha-agent',
  method: 'WS',
  path: '/v1/agent/converse',
  midStreamError: { type: 'Error', code: 'INTERNAL_SERVER_ERROR', description: 'Internal server error.' },
  connect(upgrade: Upgrade, environment: Environment): void {
    const [unknown] = upgrade.query.keys();
    if (unknown !== undefined) throw invalidQuery(`this API has no query parameters, not ${unknown}`);
    upgrade.accept(
      (session) => {
        const agent = new Agent(session, environment);
        const idle = new IdleTimer(session.timers, environment.limits.alphaIdleMs, () => agent.timeOut());
        session.onBytes((bytes) => {
          idle.touch();
          agent.hear(bytes);
        });
        session.onText((text) => {
          idle.touch();
          agent.command(text);
        });
      },
      { 'dg-request-id': crypto.randomUUID() },
    );
  },
};
