import type { HttpRequest } from '../call.ts';
import type { Environment } from '../environment.ts';
import { bytesPerSample } from '../pcm.ts';
import { respond } from '../responder.ts';
import type { Turn } from '../responder.ts';
import type { Session, Upgrade } from '../session.ts';
import { charactersOf, Talker, type Spoken } from '../talker.ts';
import { sentence, Transcriber, type AudioSettings } from '../transcriber.ts';
import { isObject, member, textMember } from '../validate.ts';
import type { HttpRoute, SocketRoute } from '../vendor.ts';
import { messageShapes, setups, tools, type AgentSetup } from './gamma-agent-setups.ts';
import { gammaRefusal } from './gamma-refusal.ts';

type Json = Readonly<Record<string, unknown>>;

/** Silence that ends the user's turn, in seconds. */
const turnSilence = 0.5;
/** How late the service tells what it remembers of a reply that was cut off, in milliseconds. */
const correctionMs = 20;

function settingsOf(format: string): AudioSettings {
  const [name, rate] = format.split('_');
  return { encoding: name === 'ulaw' ? 'mulaw' : 'linear16', sampleRate: Number(rate) };
}

/** A reply as it sounds, by the service's own reckoning. */
interface Reply {
  readonly turn: { readonly role: 'assistant'; text: string };
  startedAt: number;
  audioMs: number;
}

class Agent {
  readonly #session: Session;
  readonly #setup: AgentSetup;
  readonly #pingMs: number;
  readonly #transcriber: Transcriber;
  readonly #talker: Talker;
  readonly #turns: Turn[] = [];
  readonly #calls = new Map<string, string>();
  /** The tools that wait for an approval, by the id of their call. */
  readonly #approvals = new Map<string, string>();
  #system = '';
  #isBegun = false;
  #isUserSpeaking = false;
  #reply: Reply | undefined;
  #events = 0;
  #ids = 0;
  #ping: number | undefined;
  #isOver = false;

  constructor(session: Session, environment: Environment, setup: AgentSetup) {
    this.#session = session;
    this.#setup = setup;
    this.#pingMs = environment.limits.gammaAgentPingMs;
    const { input = 'pcm_16000', output = 'pcm_16000' } = setup;
    this.#transcriber = new Transcriber(settingsOf(input), {
      character: () => this.#voice(),
      word: () => this.#tentative(),
      step: () => this.#step(),
    });
    const { encoding, sampleRate } = settingsOf(output);
    this.#talker = new Talker({
      ...{ encoding, sampleRate, chunkMs: 200, realtimeFactor: environment.realtimeFactor },
      timers: session.timers,
      send: (bytes, spoken) => {
        const reply = this.#reply;
        if (reply) reply.audioMs += (bytes.length / bytesPerSample[encoding] / sampleRate) * 1000;
        this.#audio(bytes, spoken);
      },
    });
  }

  receive(text: string): void {
    if (this.#isOver) return;
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      message = undefined;
    }
    if (!isObject(message)) {
      this.fail('invalid_message', 'The message is not JSON.');
      return;
    }
    const type = 'user_audio_chunk' in message ? 'audio' : textMember(message, 'type');
    const shape = Object.hasOwn(messageShapes, type) ? messageShapes[type] : undefined;
    const isFirst = type === 'conversation_initiation_client_data';
    const wrong = shape ? shape(message, '') : `Unknown type ${type}`;
    if (wrong !== undefined) this.fail(isFirst ? 'value_error' : 'invalid_message', wrong);
    else if (isFirst === this.#isBegun) this.fail('invalid_message', `${type} at the wrong time`);
    else this.#handlers[type]?.(message);
  }

  fail(errorType: string, message: string): void {
    this.#isOver = true;
    const event = { code: 1008, error_type: errorType, message, reason: message };
    this.#send('error', { error_event: event });
    this.#session.close(1008, message.slice(0, 120), message);
  }

  readonly #handlers: Readonly<Record<string, (message: Json) => void>> = {
    conversation_initiation_client_data: (message) => this.#begin(message),
    audio: (message) => {
      this.#transcriber.push(new Uint8Array(Buffer.from(textMember(message, 'user_audio_chunk'), 'base64')));
    },
    pong: (message) => {
      if (member(message, 'event_id') === this.#ping) this.#ping = undefined;
      else this.fail('invalid_message', `a pong to no ping: ${String(member(message, 'event_id'))}`);
    },
    user_message: (message) => {
      // It breaks off what it says, and tells nobody.
      this.#cutOff();
      this.#turns.push({ role: 'user', text: textMember(message, 'text') });
      this.#respond();
    },
    contextual_update: (message) => {
      for (const line of textMember(message, 'text').split('\n')) {
        const [, who, text] = /^(User|You): (.*)$/.exec(line) ?? [];
        if (text !== undefined) this.#turns.push({ role: who === 'User' ? 'user' : 'assistant', text });
        else this.#system += `\n${line}`;
      }
    },
    client_tool_result: (message) => this.#result(message),
    mcp_tool_approval_result: (message) => this.#approved(message),
  };

  #begin(message: Json): void {
    const override = member(message, 'conversation_config_override');
    const { isLocked = false, firstMessage = '', input = 'pcm_16000', output = 'pcm_16000' } = this.#setup;
    const agent = member(override, 'agent');
    const [field] = Object.values(override ?? {}).flatMap((group: object) => Object.keys(group));
    if (isLocked && field !== undefined) {
      this.fail('override_error', `Override for field '${field}' is not allowed by config.`);
      return;
    }
    const given = member(agent, 'first_message');
    const first = typeof given === 'string' ? given : firstMessage;
    const variables = (member(message, 'dynamic_variables') ?? {}) as Readonly<Record<string, unknown>>;
    const missing = [...first.matchAll(/\{\{(\w+)\}\}/g)].find(([, name = '']) => !(name in variables))?.[1];
    if (missing !== undefined) {
      this.fail('missing_dynamic_variable', `Missing required dynamic variables in first message: {'${missing}'}`);
      return;
    }
    this.#isBegun = true;
    this.#system = textMember(member(agent, 'prompt'), 'prompt');
    this.#send('conversation_initiation_metadata', {
      conversation_initiation_metadata_event: {
        conversation_id: `conv_${crypto.randomUUID().replaceAll('-', '').slice(0, 12)}`,
        agent_output_audio_format: output,
        user_input_audio_format: input,
      },
    });
    this.#pinging();
    const greeting = first.replaceAll(/\{\{(\w+)\}\}/g, (_all, name: string) => String(variables[name]));
    if (greeting) this.#say(greeting);
  }

  /** The service wants each ping answered. */
  #pinging(): void {
    if (this.#ping !== undefined) {
      this.#session.close(1011, '', `no pong to ping ${this.#ping}`);
      return;
    }
    this.#ping = ++this.#events;
    const known = this.#ping > 1 ? 42 : null;
    this.#send('ping', { ping_event: { event_id: this.#ping, ping_ms: known } });
    this.#session.timers.after(this.#pingMs, () => this.#pinging());
  }

  #audio(bytes: Uint8Array<ArrayBuffer>, spoken: Spoken): void {
    const characters = charactersOf(spoken);
    const alignment = {
      chars: characters.map(({ character }) => character),
      char_start_times_ms: characters.map(({ startMs }) => Math.round(startMs - spoken.startMs)),
      char_durations_ms: characters.map(({ startMs, endMs }) => Math.round(endMs - startMs)),
    };
    const event = { audio_base_64: Buffer.from(bytes).toString('base64'), event_id: ++this.#events, alignment };
    this.#send('audio', { audio_event: event });
  }

  #say(text: string): void {
    const turn = { role: 'assistant' as const, text };
    this.#turns.push(turn);
    this.#reply = { turn, startedAt: performance.now(), audioMs: 0 };
    this.#send('internal_tentative_agent_response', {
      tentative_agent_response_internal_event: { tentative_agent_response: text },
    });
    this.#send('agent_response', { agent_response_event: { agent_response: text, event_id: ++this.#events } });
    this.#talker.say(text);
  }

  #voice(): void {
    if (this.#isUserSpeaking) return;
    this.#isUserSpeaking = true;
    this.#send('vad_score', { vad_score_event: { vad_score: 0.97 } });
    const reply = this.#reply;
    const isSounding = reply && (this.#talker.busy || performance.now() < reply.startedAt + reply.audioMs);
    if (!isSounding) return;
    const original = reply.turn.text;
    const eventId = ++this.#events;
    this.#cutOff();
    this.#send('interruption', { interruption_event: { event_id: eventId } });
    // What was on its way comes all the same, under its own number.
    const late = { audio_base_64: Buffer.alloc(3_200, 1).toString('base64'), event_id: eventId - 1 };
    this.#send('audio', { audio_event: late });
    const corrected = reply.turn.text;
    this.#session.timers.after(correctionMs, () =>
      this.#send('agent_response_correction', {
        agent_response_correction_event: {
          ...{ original_agent_response: original, corrected_agent_response: corrected, event_id: eventId },
        },
      }),
    );
  }

  /** Falls silent, and remembers what it thinks was heard. */
  #cutOff(): void {
    const reply = this.#reply;
    this.#reply = undefined;
    this.#talker.clear();
    if (!reply) return;
    const heardMs = Math.min(reply.audioMs, performance.now() - reply.startedAt);
    reply.turn.text = charactersOf({ text: reply.turn.text, startMs: 0, endMs: Infinity })
      .filter(({ endMs }) => endMs <= heardMs)
      .map(({ character }) => character)
      .join('');
  }

  #tentative(): void {
    const text = sentence(this.#transcriber.words);
    const event = { user_transcript: text, event_id: ++this.#events };
    this.#send('tentative_user_transcript', { tentative_user_transcription_event: event });
  }

  #step(): void {
    if (!this.#isUserSpeaking || this.#transcriber.quiet < turnSilence) return;
    this.#isUserSpeaking = false;
    const text = sentence(this.#transcriber.words);
    this.#transcriber.reset();
    if (!text) return;
    const event = { user_transcript: text, event_id: ++this.#events };
    this.#send('user_transcript', { user_transcription_event: event });
    this.#turns.push({ role: 'user', text });
    this.#respond();
  }

  #respond(): void {
    const reply = respond({
      ...{ system: this.#system, turns: this.#turns, tools, choice: 'auto', parallel: true },
      ...{ maxTokens: Infinity, stop: [] },
    });
    const text = reply.tokens.join('');
    if (text) this.#say(text);
    this.#talker.afterwards(() => {
      for (const { name, args } of reply.calls) this.#call(name, args);
    });
  }

  #call(name: string, args: Json): void {
    const id = `${name}_${++this.#ids}`;
    const type = tools.find((tool) => tool.name === name)?.type ?? 'client';
    const about = { tool_name: name, tool_call_id: id, tool_type: type };
    this.#send('agent_tool_request', { agent_tool_request: { ...about, event_id: ++this.#events } });
    if (type === 'client') {
      this.#calls.set(id, name);
      const call = { tool_name: name, tool_call_id: id, parameters: args, event_id: ++this.#events };
      this.#send('client_tool_call', { client_tool_call: { ...call, expects_response: true } });
      return;
    }
    if (type === 'mcp') {
      this.#approvals.set(id, name);
      const call = { service_id: 'mcp_sandbox', tool_call_id: id, tool_name: name, parameters: args };
      const waiting = { state: 'awaiting_approval', approval_timeout_secs: 300 };
      this.#send('mcp_tool_call', { mcp_tool_call: { ...call, timestamp: new Date().toISOString(), ...waiting } });
      return;
    }
    this.#called(about, false);
    if (type === 'system') {
      this.#isOver = true;
      this.#session.close(1000, 'Agent ended the call');
      return;
    }
    this.#turns.push({ role: 'result', tool: name, text: '42', failed: false });
    this.#respond();
  }

  #result(message: Json): void {
    const id = textMember(message, 'tool_call_id');
    const tool = this.#calls.get(id);
    if (tool === undefined) {
      this.fail('invalid_message', `There is no call ${id}.`);
      return;
    }
    this.#calls.delete(id);
    const failed = member(message, 'is_error') === true;
    this.#turns.push({ role: 'result', tool, text: textMember(message, 'result'), failed });
    this.#called({ tool_name: tool, tool_call_id: id, tool_type: 'client' }, failed);
    if (this.#calls.size === 0) this.#respond();
  }

  #approved(message: Json): void {
    const id = textMember(message, 'tool_call_id');
    const tool = this.#approvals.get(id);
    if (tool === undefined) {
      this.fail('invalid_message', `Nothing waits for an approval of ${id}.`);
      return;
    }
    this.#approvals.delete(id);
    const failed = member(message, 'is_approved') !== true;
    this.#turns.push({ role: 'result', tool, text: failed ? 'denied' : '42', failed });
    this.#called({ tool_name: tool, tool_call_id: id, tool_type: 'mcp' }, failed);
    this.#respond();
  }

  #called(about: Json, failed: boolean): void {
    const response = { ...about, is_error: failed, is_called: true, event_id: ++this.#events };
    this.#send('agent_tool_response', { agent_tool_response: response });
  }

  #send(type: string, more: Json): void {
    this.#session.send({ type, ...more });
  }
}

const known = ['agent_id', 'conversation_signature', 'source', 'version', 'environment', 'branch_id'];

/** ElevenLabs Agents: `wss://api.elevenlabs.io/v1/convai/conversation?agent_id=…`. */
export const gammaAgent: SocketRoute = {
  // It checks the credential itself: an agent may be public, and a refusal is told on the open socket.
  ...{ service: 'gamma-agent', method: 'WS', path: '/v1/convai/conversation', open: true },
  midStreamError: {
    type: 'error',
    error_event: { code: 1002, error_type: 'llm_timeout', message: 'The language model did not answer in time.' },
  },
  connect(upgrade: Upgrade, environment: Environment): void {
    const { query, headers, proxied } = upgrade;
    const unknown = [...query.keys()].find((name) => !known.includes(name));
    if (unknown !== undefined) throw gammaRefusal(400, `unknown parameter ${unknown}`);
    const { credentials } = environment;
    const id = query.get('agent_id') ?? '';
    const setup = Object.hasOwn(setups, id) ? setups[id] : undefined;
    const isKnown =
      proxied ||
      credentials.isKey(headers['xi-api-key']) ||
      credentials.isToken(query.get('conversation_signature') ?? undefined);
    upgrade.accept((session) => {
      if (!setup) {
        session.close(1008, 'The AI agent you are trying to reach does not exist.', `no agent ${id}`);
        return;
      }
      if (!isKnown && !setup.isPublic) {
        session.close(1008, 'Could not authorize the conversation.', 'no credential that is known');
        return;
      }
      const agent = new Agent(session, environment, setup);
      session.onText((text) => agent.receive(text));
      session.onBytes(() => agent.fail('invalid_message', 'binary frames are not known here'));
    });
  },
};

/** A signed address, for a key. */
export const gammaSignedUrl: HttpRoute = {
  ...{ service: 'gamma-agent', method: 'GET', path: '/v1/convai/conversation/get-signed-url' },
  handle(request: HttpRequest, environment: Environment): void {
    const { credentials } = environment;
    if (!credentials.isKey(request.headers['xi-api-key']))
      throw gammaRefusal(401, 'an address is asked for without a key');
    const id = request.query.get('agent_id') ?? '';
    if (!Object.hasOwn(setups, id)) throw gammaRefusal(404, `no agent ${id}`);
    const address = new URL(`${environment.baseUrl().replace(/^http/, 'ws')}/gamma/v1/convai/conversation`);
    address.searchParams.set('agent_id', id);
    address.searchParams.set('conversation_signature', credentials.grant(900));
    request.send(200, { signed_url: address.href });
  },
};
