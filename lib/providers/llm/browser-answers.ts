import { firstValueFrom, from, Observable, takeUntil } from 'rxjs';
import type { ConfigRules } from '../../core/config-rule.ts';
import { VoiceError } from '../../core/errors.ts';
import type { WireObject } from '../../core/guard.ts';
import type { GenerateOptions, LLMEvent, Message } from '../../core/messages.ts';
import { wireParameters } from '../../core/wire-parameters.ts';
import { fromAbort } from '../../stream/bridge.ts';
import { answerSchema } from './answer-schema.ts';
import { engineError, withoutText, type BrowserEngine } from './browser-engine.ts';
import { chatAnswer } from './chat-answer.ts';
import { callFields, chatHistory, chatTools } from './chat-dialect.ts';
import type { AnswerContext, ModelEffect } from './model-wire.ts';
import { repairHistory } from './repair-history.ts';

const answer = chatAnswer(false);

/** The configuration that answers depend on. */
export interface BrowserAnswersConfig {
  readonly model: string;
  readonly systemPrompt?: string;
  readonly maxTokens?: number;
  readonly chatOpts?: Readonly<Record<string, unknown>>;
}

/** What {@link BrowserAnswers} uses of its provider. */
export interface BrowserAnswersHost {
  /** The provider's class name. */
  readonly name: string;
  readonly config: () => Readonly<BrowserAnswersConfig>;
  /** The names of its keys in a request. */
  readonly rules: ConfigRules;
  /** Creates the engine. */
  readonly engine: () => BrowserEngine;
  /** The worker that runs it, if any. */
  readonly worker: Worker | undefined;
  readonly warn: (text: string) => void;
}

/** Generates answers with an engine, one at a time. Loaded during `initialize()`. */
export class BrowserAnswers {
  readonly #host: BrowserAnswersHost;
  #engine: BrowserEngine | undefined;
  /** Settles when the engine is idle: it runs one operation at a time. */
  #last: Promise<unknown> = Promise.resolve();
  #isLost = false;
  #calls = 0;

  constructor(host: BrowserAnswersHost) {
    this.#host = host;
  }

  /** Loads a model. A worker that was terminated never says so, hence the signal. */
  async start(
    model: string,
    chatOpts: Readonly<Record<string, unknown>> | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      this.#engine = this.#host.engine();
      const loaded$ = from(this.#engine.reload(model, chatOpts));
      await firstValueFrom(loaded$.pipe(takeUntil(fromAbort(signal))), { defaultValue: undefined });
    } catch (cause) {
      throw engineError(this.#host.name, cause);
    }
  }

  stop(): void {
    const { worker } = this.#host;
    const engine = this.#engine;
    this.#engine = undefined;
    engine?.interruptGenerate();
    if (worker) worker.terminate();
    // The in-page engine cannot be stopped while it processes a prompt: it unloads once that is done.
    else if (engine) void this.#last.then(() => engine.unload()).catch(() => undefined);
  }

  /** Generates an answer once the one before has ended; unsubscribing stops it at its next token. */
  generate(history: readonly Message[], options: GenerateOptions): Observable<LLMEvent> {
    const { tools = [] } = options;
    const { config, rules, name, warn } = this.#host;
    const request = requestOf(config(), rules, history, options);
    return new Observable((subscriber) => {
      let isReading = false;
      const isUnwanted = (): boolean => subscriber.closed;
      const engine = this.#engine;
      const context: AnswerContext = {
        toolNames: tools.map((tool) => tool.name),
        newCallId: () => `call_${++this.#calls}`,
      };
      const tell = (effect: ModelEffect): void => {
        if (effect.type === 'refused') throw engineError(name, effect.text);
        if (effect.type === 'unreadable') {
          warn('the engine returned an unreadable chunk');
        } else if (effect.type !== 'progress') subscriber.next(effect);
      };
      const read = async (): Promise<void> => {
        if (isUnwanted() || !engine) return;
        await this.#reloadWhenLost(engine);
        const chunks = await this.#begin(engine, request, isUnwanted);
        isReading = true;
        let state = answer.start;
        try {
          for await (const chunk of chunks) {
            // Leaving the loop frees the engine.
            if (isUnwanted()) return;
            const data = JSON.stringify(tools.length > 0 ? withoutText(chunk) : chunk);
            const [next, ...effects] = answer.read(state, { event: 'message', data }, context);
            state = next;
            effects.forEach(tell);
          }
        } finally {
          isReading = false;
        }
        const ending = answer.end(state, context);
        if (!ending)
          throw new VoiceError(`${name}: the answer was cut off`, {
            code: 'internal',
            recoverable: true,
            provider: name,
          });
        const [, ...effects] = ending;
        effects.forEach(tell);
        subscriber.complete();
      };
      this.#last = this.#last.then(read).catch((cause: unknown) => {
        const error = engineError(name, cause);
        this.#isLost ||= error.code === 'device';
        subscriber.error(error);
      });
      return () => {
        // Before the first token it would have no effect; then leaving the loop stops the answer.
        if (isReading) engine?.interruptGenerate();
      };
    });
  }

  /** Begins an answer. A GPU that is lost between answers unloads the model, which only the next request shows. */
  async #begin(engine: BrowserEngine, request: WireObject, isUnwanted: () => boolean): Promise<AsyncIterable<unknown>> {
    // WebLLM mutates its arguments.
    const create = (): Promise<AsyncIterable<unknown>> =>
      engine.chat.completions.create(structuredClone({ ...request, stream: true as const }));
    try {
      return await create();
    } catch (cause) {
      if (isUnwanted() || engineError(this.#host.name, cause).code !== 'not_ready') throw cause;
      this.#isLost = true;
      await this.#reloadWhenLost(engine);
      return create();
    }
  }

  async #reloadWhenLost(engine: BrowserEngine): Promise<void> {
    if (!this.#isLost) return;
    const { model, chatOpts } = this.#host.config();
    await engine.reload(model, chatOpts);
    this.#isLost = false;
  }
}

/** WebLLM's request for one answer. */
function requestOf(
  config: Readonly<BrowserAnswersConfig>,
  rules: ConfigRules,
  history: readonly Message[],
  options: GenerateOptions,
): WireObject {
  const { tools = [], toolChoice, responseFormat } = options;
  const { system, messages } = repairHistory(history, { systemPrompt: config.systemPrompt, startsWithUser: true });
  // The engine accepts instructions only at the beginning. With tools, WebLLM adds a system prompt of its own and rejects another.
  const [first, ...rest] = messages;
  const opening =
    system && tools.length > 0 && first ? [{ ...first, content: `${system}\n\n${first.content}` }, ...rest] : messages;
  const wire = chatHistory(opening, { lateSystemRole: 'user', silence: '' });
  return {
    messages: [...(system && tools.length === 0 ? [{ role: 'system', content: system }] : []), ...wire],
    stream_options: { include_usage: true },
    ...wireParameters({ ...config, ...callFields(options, config) }, rules),
    ...(/^qwen3/i.test(config.model) && { extra_body: { enable_thinking: false } }),
    ...chatTools(tools, toolChoice ?? 'auto'),
    ...(responseFormat && { response_format: engineFormat(responseFormat) }),
    ...options.extraBody,
  };
}

/** WebLLM takes a schema as text. */
function engineFormat(format: NonNullable<GenerateOptions['responseFormat']>): WireObject {
  const schema = format === 'json' ? undefined : JSON.stringify(answerSchema(format, 'BrowserLLM').schema);
  return { type: 'json_object', ...(schema !== undefined && { schema }) };
}
