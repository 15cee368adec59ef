import type { ServerResponse } from 'node:http';
import { lastValueFrom, toArray, type Observable } from 'rxjs';
import { VoiceError } from '../../../lib/core/errors.ts';
import { silentLogger, type Logger } from '../../../lib/core/logger.ts';
import type { LLMEvent } from '../../../lib/core/messages.ts';
import { until } from '../../transport/http-fixture.ts';
import { TestClock } from '../../transport/test-clock.ts';

/** All that a generation gave. */
export interface Outcome {
  readonly events: readonly LLMEvent[];
  readonly text: string;
  readonly error?: VoiceError;
}

export async function outcomeOf(events$: Observable<LLMEvent>): Promise<Outcome> {
  const events: LLMEvent[] = [];
  const text = (): string => events.map((event) => (event.type === 'token' ? event.text : '')).join('');
  return new Promise((resolve) => {
    events$.subscribe({
      next: (event) => events.push(event),
      error: (cause: unknown) => resolve({ events, text: text(), error: VoiceError.from(cause) }),
      complete: () => resolve({ events, text: text() }),
    });
  });
}

export const eventsOf = (events$: Observable<LLMEvent>): Promise<LLMEvent[]> => lastValueFrom(events$.pipe(toArray()));

/** Lets a clock and the sockets run until something has come. */
export async function passing<T>(clock: TestClock, coming: Promise<T>): Promise<T> {
  const state = { hasCome: false };
  const watched = coming.finally(() => (state.hasCome = true));
  while (!state.hasCome) await clock.advance(1);
  return watched;
}

/** Starts a stream of server-sent events. */
export function stream(response: ServerResponse, ...lines: readonly string[]): ServerResponse {
  if (!response.headersSent) response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  for (const line of lines) response.write(line);
  return response;
}

/** A logger that keeps what it is told: above debug in `lines`, and each response in `responses`. */
export function listeningLogger(): Logger & { readonly lines: string[]; readonly responses: string[] } {
  const lines: string[] = [];
  const responses: string[] = [];
  const write = (message: string): void => void lines.push(message);
  const debug = (message: string): void => void responses.push(message);
  const logger = { ...silentLogger, debug, info: write, warn: write, error: write, lines, responses };
  return { ...logger, scope: () => logger };
}

/** A clock that tells when somebody asked for the time: who waits for silence does so when something was heard. */
export class ListeningClock extends TestClock {
  asked: number = 0;

  constructor() {
    super();
    const now = this.now.bind(this);
    this.now = () => {
      this.asked++;
      return now();
    };
  }

  /** Does what the other side hears, and waits until it has heard it. */
  async heard(act: () => void): Promise<void> {
    const before = this.asked;
    act();
    await until(() => this.asked > before);
  }
}
