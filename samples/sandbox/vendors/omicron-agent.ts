import type { Environment } from '../environment.ts';
import { countTokens, respond } from '../responder.ts';
import type { Call, Turn } from '../responder.ts';
import type { Session, Upgrade } from '../session.ts';
import { charactersOf, Talker } from '../talker.ts';
import { sentence, Transcriber } from '../transcriber.ts';
import { isObject, member, textMember } from '../validate.ts';
import { Refusal } from '../vendor.ts';
import type { HttpRoute, SocketRoute, Vendor } from '../vendor.ts';
import { messageShapes } from './omicron-agent-messages.ts';

type Json = Readonly<Record<string, unknown>>;

/** What a handle stands for. */
interface Memory {
  readonly turns: readonly Turn[];
  readonly owner: Session;
}

/** A call that waits for its result. */
interface Pending {
  readonly name: string;
  readonly blocks: boolean;
}

const memories = new WeakMap<Environment, Map<string, Memory>>();
const models = /^models\/gemini-(3\.8-live(-extended-thinking)?|3\.1-flash-live-preview)$/;
/** How long transcription takes after the end of a turn: the reply begins before. */
const transcriptionMs = 20;
/** A reply that the client words itself. */
const dictated = /word for word[^\n]*\n([\s\S]+)$/;
/** Transcripts come in pieces that respect no word. */
const piecesOf = (text: string): readonly string[] => text.match(/[\s\S]{1,5}/g) ?? [];

class Agent {
  readonly #session: Session;
  readonly #environment: Environment;
  #setup: Json | undefined;
  #transcriber: Transcriber | undefined;
  #talker: Talker | undefined;
  #turns: Turn[] = [];
  #awaitsHistory = false;
  #speaking = false;
  #spokenTurns = 0;
  #transcribing: Promise<void> = Promise.resolve();
  #isGenerating = false;
  /** What was sent of the reply, as text. */
  #sent = '';
  #pending = new Map<string, Pending>();
  #results: Turn[] = [];
  #count = 0;

  constructor(session: Session, environment: Environment) {
    this.#session = session;
    this.#environment = environment;
  }

  receive(text: string): void {
    let message: unknown;
    try {
      message = JSON.parse(text);
    } catch {
      message = undefined;
    }
    const [kind = '', ...more] = isObject(message) ? Object.keys(message) : [];
    const shape = Object.hasOwn(messageShapes, kind) ? messageShapes[kind] : undefined;
    const value = member(message, kind);
    const wrong =
      shape && more.length === 0 ? shape(value, kind) : `one known member is needed, not ${text.slice(0, 60)}`;
    if (wrong !== undefined) this.#refuse(1007, `Request contains an invalid argument. ${wrong}`);
    else if ((kind === 'setup') === (this.#setup !== undefined))
      this.#refuse(1007, 'setup must be the first message, once');
    else if (this.#awaitsHistory && kind !== 'clientContent')
      this.#refuse(1007, 'the initial history is to come first');
    else this.#handlers[kind]?.(value as Json);
  }

  readonly #handlers: Readonly<Record<string, (message: Json) => void>> = {
    setup: (setup) => this.#begin(setup),
    realtimeInput: (input) => this.#hear(input),
    clientContent: (content) => this.#told(content),
    toolResponse: (response) => this.#answered(response),
  };

  #begin(setup: Json): void {
    const model = textMember(setup, 'model');
    const generation = member(setup, 'generationConfig');
    const handle = textMember(member(setup, 'sessionResumption'), 'handle');
    const memory = memories.get(this.#environment)?.get(handle);
    if (!models.test(model)) {
      const why = 'is not found for API version v1beta, or is not supported for bidiGenerateContent.';
      this.#refuse(1008, `${model} ${why} Call ListModels to see the list of available models.`);
    } else if (model.endsWith('3.8-live') && member(generation, 'thinkingConfig') !== undefined) {
      this.#refuse(1007, 'Thinking level is not supported for this model.');
    } else if (!isObject(member(setup, 'outputAudioTranscription'))) {
      this.#refuse(1007, 'the sandbox tells every reply in words too: outputAudioTranscription');
    } else if (handle && !memory) this.#refuse(1008, 'BidiGenerateContent session not found');
    else if (memory?.owner.isOpen) this.#session.close(1011, 'Internal error encountered.');
    else this.#accept(setup, memory);
  }

  #accept(setup: Json, memory: Memory | undefined): void {
    this.#setup = setup;
    this.#turns = [...(memory?.turns ?? [])];
    this.#awaitsHistory = member(member(setup, 'historyConfig'), 'initialHistoryInClientContent') === true;
    const encoding = 'linear16';
    this.#transcriber = new Transcriber(
      { encoding, sampleRate: 16_000 },
      { character: () => this.#voice(), word: () => this.#word(), step: () => this.#step() },
    );
    this.#talker = new Talker({
      ...{ encoding, sampleRate: 24_000, chunkMs: 200, realtimeFactor: this.#environment.realtimeFactor },
      timers: this.#session.timers,
      send: (bytes, spoken) => {
        const text = charactersOf(spoken)
          .map(({ character }) => character)
          .join('');
        this.#sent += text;
        const data = Buffer.from(bytes).toString('base64');
        const inlineData = { mimeType: 'audio/pcm;rate=24000', data };
        this.#content({ modelTurn: { role: 'model', parts: [{ inlineData }] } });
        for (const piece of piecesOf(text)) this.#content({ outputTranscription: { text: piece } });
      },
    });
    this.#send({ setupComplete: {} });
    const { omicronAgentSessionMs: whole } = this.#environment.limits;
    this.#session.timers.after(whole * 0.9, () =>
      this.#send({ goAway: { timeLeft: `${Math.ceil(whole / 10_000)}s` } }),
    );
    this.#session.timers.after(whole, () =>
      this.#session.close(1011, 'Deadline expired before operation could complete.'),
    );
  }

  get #detection(): unknown {
    return member(member(this.#setup, 'realtimeInputConfig'), 'automaticActivityDetection');
  }

  get #isManual(): boolean {
    return member(this.#detection, 'disabled') === true;
  }

  #hear(input: Json): void {
    const data = textMember(input['audio'], 'data');
    if (data) {
      // Without detection, what is heard outside of an activity belongs to nobody.
      if (!this.#isManual || this.#speaking) this.#transcriber?.push(new Uint8Array(Buffer.from(data, 'base64')));
      return;
    }
    const isSignal = input['activityStart'] !== undefined || input['activityEnd'] !== undefined;
    if (isSignal && !this.#isManual) {
      this.#refuse(1007, 'Explicit activity control is not supported when automatic activity detection is enabled.');
    } else if (input['activityStart'] !== undefined) this.#started();
    else if (input['activityEnd'] !== undefined) {
      this.#transcriber?.finish();
      this.#ended();
    }
  }

  #voice(): void {
    if (!this.#isManual) this.#started();
  }

  #started(): void {
    if (this.#speaking) return;
    this.#speaking = true;
    const handling = textMember(member(this.#setup, 'realtimeInputConfig'), 'activityHandling');
    if (handling !== 'NO_INTERRUPTION') this.#interrupt();
  }

  /** Every other turn is written down while it is spoken. */
  #word(): void {
    const word = this.#transcriber?.words.at(-1)?.text;
    if (this.#speaking && this.#spokenTurns % 2 === 1 && word !== undefined) this.#transcribe(`${word} `);
  }

  #step(): void {
    const transcriber = this.#transcriber;
    if (!transcriber || !this.#speaking || this.#isManual) return;
    const silence = Number(member(this.#detection, 'silenceDurationMs') ?? 500) / 1000;
    if (transcriber.quiet >= Math.max(0.1, silence)) this.#ended();
  }

  #ended(): void {
    if (!this.#transcriber || !this.#speaking) return;
    this.#speaking = false;
    const text = sentence(this.#transcriber.words);
    this.#transcriber.reset();
    if (this.#spokenTurns++ % 2 === 0) {
      this.#transcribing = this.#session.timers.sleep(transcriptionMs).then(() => this.#transcribe(text));
    }
    this.#turns.push({ role: 'user', text });
    this.#respond();
  }

  #transcribe(text: string): void {
    if (!isObject(member(this.#setup, 'inputAudioTranscription'))) return;
    for (const piece of piecesOf(text)) this.#content({ inputTranscription: { text: piece } });
  }

  #told(content: Json): void {
    const turns = (content['turns'] ?? []) as readonly Json[];
    const isHistory = this.#awaitsHistory;
    if (!isHistory) this.#interrupt();
    this.#turns.push(
      ...turns.map((turn): Turn => {
        const text = ((turn['parts'] ?? []) as readonly Json[]).map((part) => textMember(part, 'text')).join('');
        return { role: textMember(turn, 'role') === 'model' ? 'assistant' : 'user', text };
      }),
    );
    if (content['turnComplete'] !== true) return;
    this.#awaitsHistory = false;
    if (!isHistory) this.#respond();
  }

  #respond(): void {
    const talker = this.#talker;
    if (!talker || !this.#setup) return;
    this.#isGenerating = true;
    this.#sent = '';
    this.#send({ sessionResumptionUpdate: { newHandle: '', resumable: false } });
    const said = dictated.exec(this.#turns.at(-1)?.text ?? '')?.[1];
    const tools = ((this.#setup['tools'] ?? []) as readonly Json[]).flatMap(
      (tool) => tool['functionDeclarations'] as readonly Json[],
    );
    const instructions = member(this.#setup['systemInstruction'], 'parts') as readonly Json[] | undefined;
    const reply = respond({
      ...{ system: textMember(instructions?.[0], 'text'), turns: this.#turns, parallel: true, stop: [] },
      tools: tools.map((tool) => ({ name: textMember(tool, 'name'), parameters: tool['parametersJsonSchema'] })),
      choice: 'auto',
      maxTokens: Number(member(this.#setup['generationConfig'], 'maxOutputTokens') ?? Infinity),
    });
    const text = said ?? reply.tokens.join('');
    if (text) talker.say(text);
    talker.afterwards(() => {
      if (text) this.#turns.push({ role: 'assistant', text });
      if (said === undefined && reply.calls.length > 0) this.#call(reply.calls, tools);
      else this.#complete(reply.finish === 'filtered' ? { turnCompleteReason: 'GENERATED_AUDIO_SAFETY' } : {});
    });
  }

  #call(calls: readonly Call[], tools: readonly Json[]): void {
    const isAsync = textMember(this.#setup, 'model').includes('3.8-live');
    const functionCalls = calls.map(({ name, args }) => {
      const behavior = textMember(
        tools.find((tool) => tool['name'] === name),
        'behavior',
      );
      const id = `function-call-${++this.#count}`;
      this.#pending.set(id, { name, blocks: behavior === 'BLOCKING' || (behavior === '' && !isAsync) });
      return { id, name, args };
    });
    this.#send({ toolCall: { functionCalls } });
    if (![...this.#pending.values()].some(({ blocks }) => blocks)) this.#complete();
  }

  #answered(response: Json): void {
    let isSilent = true;
    for (const each of (response['functionResponses'] ?? []) as readonly Json[]) {
      const id = textMember(each, 'id');
      const call = this.#pending.get(id);
      if (call?.name !== textMember(each, 'name')) {
        this.#refuse(1008, 'Requested entity was not found.');
        return;
      }
      this.#pending.delete(id);
      const text = JSON.stringify(each['response']);
      this.#results.push({ role: 'result', tool: call.name, text, failed: text.includes('"error"') });
      isSilent &&= textMember(each, 'scheduling') === 'SILENT';
    }
    if (this.#pending.size > 0) return;
    this.#turns.push(...this.#results.splice(0));
    if (!isSilent) this.#respond();
  }

  /** What is being said is over; a piece of it is still under way. */
  #interrupt(): void {
    const blocked = [...this.#pending].filter(([, { blocks }]) => blocks).map(([id]) => id);
    if (blocked.length > 0) {
      for (const id of blocked) this.#pending.delete(id);
      this.#results = [];
      this.#send({ toolCallCancellation: { ids: blocked } });
    }
    if (!this.#isGenerating) return;
    this.#talker?.clear();
    this.#isGenerating = false;
    this.#content({ interrupted: true });
    const late = Buffer.alloc(4_800, 1).toString('base64');
    this.#content({ modelTurn: { parts: [{ inlineData: { mimeType: 'audio/pcm;rate=24000', data: late } }] } });
    this.#content({ outputTranscription: { text: ' late' } });
    // The service remembers what it has sent, heard or not.
    if (this.#sent) this.#turns.push({ role: 'assistant', text: this.#sent });
    this.#content({ turnComplete: true });
  }

  #complete(more: Json = {}): void {
    this.#content({ generationComplete: true });
    // A turn is not complete before its words are there.
    void this.#transcribing.then(() => {
      if (this.#isGenerating) this.#completed(more);
    });
  }

  #completed(more: Json): void {
    this.#isGenerating = false;
    const heard = this.#turns.reduce((sum, { text }) => sum + countTokens(text), 0);
    this.#send({
      serverContent: { turnComplete: true, ...more },
      usageMetadata: {
        ...{ promptTokenCount: heard, responseTokenCount: 30, totalTokenCount: heard + 30 },
        promptTokensDetails: [{ modality: 'TEXT', tokenCount: heard }],
        responseTokensDetails: [{ modality: 'AUDIO', tokenCount: 20 }],
      },
    });
    if (!isObject(member(this.#setup, 'sessionResumption'))) return;
    const handle = crypto.randomUUID();
    const known = memories.get(this.#environment) ?? new Map<string, Memory>();
    memories.set(this.#environment, known);
    known.set(handle, { turns: [...this.#turns], owner: this.#session });
    this.#send({ sessionResumptionUpdate: { newHandle: handle, resumable: true } });
  }

  #refuse(code: number, reason: string): void {
    // A reason has at most 123 bytes.
    this.#session.close(code, reason.slice(0, 120), reason);
  }

  #content(content: Json): void {
    this.#send({ serverContent: content });
  }

  #send(message: Json): void {
    this.#session.sendBinary(message);
  }
}

function bidi(path: string, isAllowed: (upgrade: Upgrade, environment: Environment) => boolean): SocketRoute {
  return {
    ...{ service: 'omicron-agent', method: 'WS', path, open: true },
    midStreamError: { goAway: { timeLeft: '0s' } },
    connect(upgrade: Upgrade, environment: Environment): void {
      const unknown = [...upgrade.query.keys()].find((name) => !/^(key|access_token)$/.test(name));
      if (unknown !== undefined) throw refuse(400, `unknown parameter ${unknown}`);
      upgrade.accept((session) => {
        if (!upgrade.proxied && !isAllowed(upgrade, environment)) {
          session.close(1007, 'API key not valid. Please pass a valid API key.', 'a wrong key, or none');
          return;
        }
        const agent = new Agent(session, environment);
        session.onText((text) => agent.receive(text));
        session.onBytes((bytes) => agent.receive(new TextDecoder().decode(bytes)));
      });
    },
  };
}

function refuse(status: number, why: string): Refusal {
  return new Refusal(status, { error: { code: status, message: why, status: 'INVALID_ARGUMENT' } }, why);
}

const service = (version: string): string => `/ws/google.ai.generativelanguage.${version}.GenerativeService`;

/** Short-lived tokens, for pages. */
const tokens: HttpRoute = {
  ...{ service: 'omicron-token', method: 'POST', path: '/v1alpha/auth_tokens' },
  handle: (request, { credentials }) => request.send(200, { name: `auth_tokens/${credentials.grant(60)}` }),
};

/** Gemini Live: `wss://generativelanguage.googleapis.com/ws/…BidiGenerateContent`. */
export const omicronAgent: Vendor = {
  mount: 'omicron',
  routes: [
    bidi(`${service('v1beta')}.BidiGenerateContent`, ({ query, headers }, { credentials }) =>
      credentials.isKey(headers['x-goog-api-key'] ?? query.get('key') ?? undefined),
    ),
    bidi(`${service('v1alpha')}.BidiGenerateContentConstrained`, ({ query, headers }, { credentials }) => {
      const token = /^Token (.+)$/.exec(headers['authorization'] ?? '')?.[1] ?? query.get('access_token') ?? '';
      return token.startsWith('auth_tokens/') && credentials.isToken(token.slice('auth_tokens/'.length));
    }),
    tokens,
  ],
  refuse,
  authorize({ headers, query }, credentials) {
    if (credentials.isKey(headers['x-goog-api-key'] ?? query.get('key') ?? undefined)) return;
    throw refuse(400, 'API key not valid. Please pass a valid API key.');
  },
};
