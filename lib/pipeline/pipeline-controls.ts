import { asyncScheduler, of, Subject, type Observable, type ObservableInput } from 'rxjs';
import { VoiceError } from '../core/errors.ts';
import { silentLogger } from '../core/logger.ts';
import {
  notHeard,
  SpeechTicket,
  type Command,
  type SayOptions,
  type SendOptions,
  type SpeechHandle,
} from '../conversation/commands.ts';
import type { CapturePath } from './capture-path.ts';
import type { SessionCode } from './session-code.ts';
import { PipelineEvents } from './pipeline-events.ts';
import {
  assertArguments,
  assertChangeable,
  assertLeftToAgent,
  assertProviders,
  refused,
  type PipelineOptions,
  type PipelineUpdate,
} from './pipeline-options.ts';
import { assignRoles, withCompany, type AssignedRoles } from './roles.ts';

/** The commands of an application to a running pipeline. */
export abstract class PipelineControls extends PipelineEvents {
  /** @internal The options of the next session. */
  protected options: PipelineOptions;
  /** @internal The options at construction. */
  protected readonly created: PipelineOptions;
  /** @internal */
  protected readonly assigned: AssignedRoles;
  /** @internal What `initialize()` has loaded. */
  protected code: SessionCode = {};
  /** @internal The running session's microphone. */
  protected captured: CapturePath | undefined;
  /** @internal */
  protected isMuted: boolean = false;
  readonly #commands$ = new Subject<Command>();
  /** @internal The commands to the running session. */
  protected readonly commands$: Observable<Command> = this.#commands$.asObservable();
  /** @internal Whether a session is running. */
  protected abstract readonly isInSession: boolean;
  /** @internal Whether one has run. */
  protected wasInSession: boolean = false;
  /** @internal */
  protected abstract readonly isDisposed: boolean;

  /** @internal */
  constructor(options: PipelineOptions) {
    assertProviders(options);
    const { logger = silentLogger, scheduler = asyncScheduler } = options;
    super(scheduler, logger);
    this.options = options;
    this.created = options;
    this.assigned = withCompany(assignRoles(options.providers), options);
    assertLeftToAgent(this.assigned.agent?.name, options);
    assertArguments(options);
  }

  /** @internal Passes a command to the running session, if there is one. */
  protected command(command: Command): void {
    this.#commands$.next(command);
  }

  /**
   * Makes the agent say something: a text, or a stream of its pieces. While the user is speaking it waits for the end of
   * that, unless it is urgent or uninterruptible. An iterable, a generator or a ReadableStream is read no more
   * than 2,000 characters ahead of what is heard; an Observable emits as fast as it does.
   *
   * @throws VoiceError `configuration` when there is no such option.
   */
  say(text$: string | ObservableInput<string>, given: SayOptions = {}): SpeechHandle {
    const options = { ...given };
    this.code.assertSaying?.(options);
    const ticket = new SpeechTicket();
    const pieces$ = typeof text$ === 'string' ? of(text$) : text$;
    this.#request({ type: 'say', text$: pieces$, options, source: 'say', ticket }, ticket);
    return ticket;
  }

  /**
   * Sends a text that the user typed, handled like speech, and images that it is about. Blank text without images is
   * ignored.
   *
   * @throws VoiceError `configuration` when it is no text, when `answer` or `images` cannot work, or when there is no such
   * option.
   */
  send(text: string, given: SendOptions = {}): SpeechHandle {
    if (typeof text !== 'string') throw refused('send() takes a text');
    const options = { ...given };
    this.code.assertAnswer?.(options);
    const ticket = new SpeechTicket();
    if (text.trim() || options.images?.length) this.#request({ type: 'send', text, options, ticket }, ticket);
    else ticket.settle({ heardText: '', interrupted: false });
    return ticket;
  }

  /** Cuts off what the agent is saying or preparing. */
  interrupt(): void {
    this.command({ type: 'interrupt' });
  }

  /** Push-to-talk: the user starts speaking. Interrupts the agent. */
  beginTurn(): void {
    this.command({ type: 'begin' });
    this.captured?.open();
  }

  /** Push-to-talk: the user has finished. */
  commitTurn(): void {
    this.captured?.close();
    this.command({ type: 'commit' });
  }

  /** Push-to-talk: drops what was said. */
  cancelTurn(): void {
    this.captured?.close();
    this.command({ type: 'cancel' });
  }

  /** Sends the speech-to-text service silence from now on. */
  mute(): void {
    this.#mute(true);
  }

  /** Sends the speech-to-text service the user's audio again. */
  unmute(): void {
    this.#mute(false);
  }

  /**
   * Changes options of a pipeline, even while it runs, for this session and all later ones. `undefined` restores a
   * default. When an option takes effect:
   *
   * - `bargeIn`, `preflight`, `listening`, `onUnclear`, `locale`, `followLanguage`, `timeouts.idleMs`, `timeouts.awayMs`:
   *   at once; an interruption that has begun ends by the old ones.
   * - `onUserTurn`, `timeouts.hookMs`, `turnTaking`, `endpointing`: from the user's next turn; push-to-talk switches with
   *   it.
   * - `systemPrompt`, `tools`, `answer`, `agent`, the model's `timeouts`: from the next request to the model, also within
   *   an answer. A prepared answer is discarded.
   * - `text`, `locale` (for sentences), the voice's `timeouts`: from the next text that is spoken.
   * - `greeting`: from the next `start()`.
   *
   * @example
   * ```ts
   * import type { Pipeline } from 'rxvoice';
   *
   * declare const pipeline: Pipeline;
   *
   * pipeline.update({ systemPrompt: 'The caller is verified. You may discuss the account.', bargeIn: 'immediate' });
   * ```
   *
   * @throws VoiceError `configuration` when a value cannot work, a key cannot change, or an option belongs to the agent;
   * then nothing changes. Before `initialize()`, it is `initialize()` that rejects such values. `not_ready` once disposed.
   */
  update(changes: PipelineUpdate): void {
    if (this.isDisposed) throw new VoiceError('Pipeline: disposed; create another one', { code: 'not_ready' });
    assertChangeable(changes);
    assertLeftToAgent(this.assigned.agent?.name, changes);
    assertArguments(changes);
    const options = { ...this.options, ...changes } as PipelineOptions;
    this.code.assertOptions?.(options, this.created);
    this.options = options;
    const { greeting: _, ...settings } = changes;
    const [first] = Object.keys(options.agents ?? {});
    const agent = 'agent' in settings ? { agent: settings.agent ?? first } : {};
    this.command({ type: 'update', changes: { ...settings, ...agent } });
  }

  #mute(muted: boolean): void {
    if (muted === this.isMuted) return;
    this.isMuted = muted;
    this.captured?.mute(muted);
    this.bus.emit('input.muted', { muted }, { role: 'input', provider: this.assigned.input.name });
  }

  #request(command: Command, ticket: SpeechTicket): void {
    if (this.isInSession) {
      this.command(command);
      return;
    }
    ticket.settle(notHeard);
    // After a conversation that is what to expect; before one, an await is missing.
    if (this.wasInSession || this.isDisposed) return;
    const message = `Pipeline: ${command.type}() came before start(): await start() first`;
    this.reportError(new VoiceError(message, { code: 'not_ready' }));
  }
}
