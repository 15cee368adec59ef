import { asyncScheduler, type SchedulerLike } from 'rxjs';
import { messageOf, VoiceError } from '../../core/errors.ts';
import { listedOrigins } from '../../core/listed-origins.ts';
import { silentLogger, type Logger } from '../../core/logger.ts';
import { patientTimer } from '../../stream/patient-timer.ts';
import { pageCloses, type PageHello } from '../../transport/page-wire.ts';
import { parsePageMessage } from './page-messages.ts';
import { loadOpus, PageOpus } from './page-opus.ts';
import { PageSocket, type PageSocketConfig } from './page-socket.ts';
import { assertHasEvents, isNodeSocket, type DomSocketEvent, type PlatformSocket } from './platform-socket.ts';

/** A socket's request: Node's `IncomingMessage`, or a `Request`. */
export interface PageRequest {
  readonly headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** Options of {@link PageSockets}. */
export interface PageSocketsOptions<R extends PageRequest> {
  /**
   * Called for each new page: start its pipeline here. It may be async: the page waits. If it throws, the page is
   * refused; a VoiceError `overloaded`, as thrown by `sessions()`, tells the page to try again later.
   */
  readonly open: (page: PageSocket, request: R) => unknown;
  /** Configuration of each page. */
  readonly config?: PageSocketConfig;
  /** Origins of allowed pages, such as `https://app.example.com`. Default: pages of this port on this machine. */
  readonly origins?: readonly string[];
  /** Most pages at once, including those that are away. Default: 100. */
  readonly maxPages?: number;
  /** Most sockets that have not yet said hello. Default: 64. */
  readonly maxWaiting?: number;
  /** Longest wait for a socket's hello, in milliseconds. Default: 10,000. */
  readonly helloMs?: number;
  /** Logs refused sockets, and pages that get linear16 instead of Opus. Default: silent. */
  readonly logger?: Logger;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** Longest hello, in bytes. */
const maxHelloBytes = 4096;

const loopback = /^(127(\.\d{1,3}){3}|\[::1\]|localhost)$/;

/**
 * Accepts sockets of pages with `rxvoice/remote`: a new page starts a session, one that lost its socket resumes it.
 * Authenticating the user is up to the application, beforehand.
 *
 * @example
 * ```ts
 * import { PageSockets, sessions, sharePipeline, type AnyProvider, type PageSocket } from 'rxvoice';
 * import { WebSocketServer } from 'ws';
 *
 * declare const services: () => AnyProvider[];
 *
 * const conversations = sessions({ create: (page: PageSocket) => ({ providers: [page, ...services()] }) });
 * const pages = new PageSockets({
 *   origins: ['https://app.example.com'],
 *   open: (page) => sharePipeline(conversations.open(page).pipeline, page),
 * });
 * new WebSocketServer({ port: 8080, maxPayload: 65_536 }).on('connection', (socket, request) => {
 *   pages.accept(socket, request);
 * });
 * ```
 */
export class PageSockets<R extends PageRequest = PageRequest> implements Disposable {
  readonly #options: PageSocketsOptions<R>;
  readonly #origins: readonly string[] | undefined;
  readonly #logger: Logger;
  readonly #pages = new Map<string, PageSocket>();
  #opus: Promise<(rate: number) => PageOpus | undefined> | undefined;
  #waiting = 0;
  #isClosed = false;

  /** @throws Error when an entry of `origins` is not an origin. */
  constructor(options: PageSocketsOptions<R>) {
    this.#options = options;
    this.#origins = listedOrigins(options.origins);
    this.#logger = options.logger ?? silentLogger;
  }

  /** The pages, including those that are away. */
  get all(): readonly PageSocket[] {
    return [...this.#pages.values()];
  }

  /** Whether a request comes from a page that may connect: for a server that answers 403 before the upgrade. */
  allows(request: R): boolean {
    const [origin, host = ''] = [headerOf(request, 'origin'), headerOf(request, 'host')];
    // Programs send no origin; browsers always do.
    if (origin === undefined) return true;
    if (this.#origins) return this.#origins.includes(origin);
    if (!URL.canParse(origin)) return false;
    const page = new URL(origin);
    return page.host === host && loopback.test(page.hostname);
  }

  /** Takes a `ws` or DOM WebSocket that the application has accepted: at once, before its first message. */
  accept(socket: PlatformSocket, request: R): void {
    const { maxWaiting = 64, helloMs = 10_000, scheduler = asyncScheduler } = this.#options;
    assertHasEvents(socket);
    // It can fail before anyone else listens.
    if (isNodeSocket(socket)) socket.on('error', () => undefined);
    if (!this.allows(request)) {
      this.#refuse(socket, pageCloses.refused, 'not an allowed page');
      return;
    }
    if (this.#isClosed || this.#waiting >= maxWaiting) {
      this.#refuse(socket, pageCloses.full, 'too many sockets wait');
      return;
    }
    this.#waiting += 1;
    const late = patientTimer(helloMs, scheduler).subscribe({ next: () => settle(undefined), error: () => undefined });
    const unlisten = listenOnce(socket, (first) => settle(first));
    const settle = (first: string | undefined): void => {
      late.unsubscribe();
      unlisten();
      this.#waiting -= 1;
      const hello = first === undefined || first.length > maxHelloBytes ? undefined : parsePageMessage(first);
      if (hello?.type === 'hello') this.#welcome(socket, hello, request);
      else this.#refuse(socket, pageCloses.refused, 'no hello');
    };
  }

  /** Ends all conversations, and refuses new ones. */
  [Symbol.dispose](): void {
    this.#isClosed = true;
    for (const page of this.all) page.hangUp();
  }

  #welcome(socket: PlatformSocket, hello: PageHello, request: R): void {
    if (hello.session !== undefined) {
      const page = this.#pages.get(hello.session);
      if (page?.admits(hello)) page.attach(socket, hello);
      else this.#refuse(socket, pageCloses.unknown, 'no such session');
      return;
    }
    if (hello.audio !== 'opus' || this.#options.config?.opus === false) {
      this.#begin(socket, hello, request);
      return;
    }
    this.#waiting += 1;
    this.#opus ??= this.#loadOpus();
    void this.#opus.then((opus) => {
      this.#waiting -= 1;
      if (!hasLeft(socket)) this.#begin(socket, hello, request, () => opus(hello.rate));
    });
  }

  #begin(socket: PlatformSocket, hello: PageHello, request: R, openOpus?: () => PageOpus | undefined): void {
    const { maxPages = 100, config = {}, open, logger, scheduler } = this.#options;
    if (this.#isClosed || this.#pages.size >= maxPages) {
      this.#refuse(socket, pageCloses.full, 'too many pages');
      return;
    }
    const page = new PageSocket({ ...(scheduler && { scheduler }), ...config }, logger, openOpus?.());
    this.#pages.set(page.session, page);
    page.expect(hello);
    page.onCallEnded(() => this.#pages.delete(page.session));
    const turnAway = (cause: unknown): void => {
      const isFull = VoiceError.is(cause) && cause.code === 'overloaded';
      this.#logger.warn(`PageSockets: a page is refused: ${messageOf(cause)}`);
      close(socket, isFull ? pageCloses.full : pageCloses.failed);
      page.hangUp();
    };
    // Only then is the page welcome: one that is refused has not started.
    const welcome = (): void => {
      if (!this.#pages.has(page.session)) close(socket, pageCloses.over);
      // It could not return: it has learned neither session nor token.
      else if (hasLeft(socket)) page.hangUp();
      else page.attach(socket, hello);
    };
    try {
      const opening = open(page, request);
      if (opening instanceof Promise) opening.then(welcome, turnAway);
      else welcome();
    } catch (cause) {
      turnAway(cause);
    }
  }

  /** Opens a page's codecs; without a package, or without room, the page gets linear16. */
  async #loadOpus(): Promise<(rate: number) => PageOpus | undefined> {
    const warn = (cause: unknown): void =>
      this.#logger.warn(`PageSockets: linear16 instead of Opus: ${messageOf(cause)}`);
    const open = await loadOpus().catch((cause: unknown) => {
      warn(cause);
      return undefined;
    });
    return (rate) => {
      try {
        return open && new PageOpus(open, rate);
      } catch (cause) {
        warn(cause);
        return undefined;
      }
    };
  }

  #refuse(socket: PlatformSocket, code: number, reason: string): void {
    this.#logger.debug(`PageSockets: a socket is refused: ${reason}`);
    close(socket, code, reason);
  }
}

/** Whether it is closing or closed. */
function hasLeft({ readyState }: PlatformSocket): boolean {
  return readyState >= 2;
}

function close(socket: PlatformSocket, code: number, reason?: string): void {
  try {
    socket.close(code, reason);
  } catch {
    // It is already closed.
  }
}

function headerOf({ headers }: PageRequest, name: string): string | undefined {
  const value = headers instanceof Headers ? headers.get(name) : headers[name];
  return typeof value === 'string' ? value : undefined;
}

/** Calls back with a socket's first message if that is text; else, or if the socket closes, with `undefined`. */
function listenOnce(socket: PlatformSocket, callback: (text: string | undefined) => void): () => void {
  const onClose = (): void => callback(undefined);
  if (isNodeSocket(socket)) {
    const onMessage = (data: unknown, isBinary?: boolean): void => callback(isBinary ? undefined : textOf(data));
    socket.on('message', onMessage);
    socket.on('close', onClose);
    return () => {
      socket.off('message', onMessage);
      socket.off('close', onClose);
    };
  }
  const onMessage = ({ data }: DomSocketEvent): void => callback(typeof data === 'string' ? data : undefined);
  socket.addEventListener('message', onMessage);
  socket.addEventListener('close', onClose);
  return () => {
    socket.removeEventListener('message', onMessage);
    socket.removeEventListener('close', onClose);
  };
}

/** The text of a message: `ws` delivers it as bytes. */
function textOf(data: unknown): string | undefined {
  if (data instanceof Uint8Array) return new TextDecoder().decode(data);
  return typeof data === 'string' ? data : undefined;
}
