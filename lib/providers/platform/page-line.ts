import type { Observable, SchedulerLike, Subject } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../../audio/types.ts';
import type { LinePlay, PlaybackLine } from '../../playback/line.ts';
import type { PlayerStreams } from '../../playback/late-player.ts';
import { Player } from '../../playback/player.ts';
import type { PageHello, ServerMessage } from '../../transport/page-wire.ts';

/** Configuration of a {@link PageLine}. */
export interface PageLineOptions {
  /** linear16, mono. */
  readonly format: AudioMetadata;
  /** Audio that the page may hold unheard, in milliseconds. */
  readonly leadMs: number;
  /** Audio sent again where a play goes on, in milliseconds: an encoder that begins there needs what comes before. */
  readonly warmUpMs: number;
  readonly scheduler: SchedulerLike;
  /** Whether a page is connected. */
  readonly isOpen: () => boolean;
  readonly send: (message: ServerMessage) => void;
  /** Sends a play's audio, from a given frame on. */
  readonly sendAudio: (play: number, at: number, data: Uint8Array<ArrayBuffer>) => void;
}

/** A page's report on its playback. */
interface Report {
  readonly play: number;
  readonly at: number;
  readonly tailMs: number;
}

/** Longest piece in one message, and the shortest while more is to come, in milliseconds. */
const pieceMs = 200;
const leastMs = 20;

/** How far a reported position may be extrapolated, in milliseconds. */
const guessMs = 200;

const frameBytes = 2;

/**
 * One play in a page, which reports what was heard. Between reports, the position is briefly extrapolated; audio not
 * yet heard is kept, for another socket.
 */
export class PageLine implements PlaybackLine {
  readonly #options: PageLineOptions;
  readonly #bytesPerMs: number;
  readonly #heard$: Subject<AudioChunk>;
  /** Audio once it was heard. Hot. */
  readonly heard$: Observable<AudioChunk>;
  #play: LinePlay | undefined;
  #id = 0;
  /** Offsets in bytes: sent to the page, reported as heard, and published as heard, which never decreases. */
  #sent = 0;
  #reported = 0;
  #floor = 0;
  #reportedAt = 0;
  #tailMs = 0;
  #isPaused = false;
  /** The end that was announced to the page. */
  #endsAt: number | undefined;
  #volume = 1;
  /** Sent but not yet reported as heard. */
  #kept: { readonly at: number; readonly data: Uint8Array<ArrayBuffer> }[] = [];

  constructor(options: PageLineOptions, heard$: Subject<AudioChunk>) {
    this.#options = options;
    this.#heard$ = heard$;
    this.heard$ = heard$.asObservable();
    this.#bytesPerMs = (options.format.sampleRate * frameBytes) / 1000;
  }

  get heard(): number {
    const elapsedMs = Math.min(guessMs, Math.max(0, this.#options.scheduler.now() - this.#reportedAt));
    const guess = this.#isMoving ? Math.floor((elapsedMs * this.#bytesPerMs) / frameBytes) * frameBytes : 0;
    this.#floor = Math.max(this.#floor, Math.min(this.#reported + guess, this.#sent));
    return this.#floor;
  }

  get tailMs(): number {
    return this.#isMoving ? this.#tailMs : 0;
  }

  isHeard(offset: number): boolean {
    return offset <= this.#reported;
  }

  formatFor(): AudioMetadata {
    return this.#options.format;
  }

  setVolume(volume: number): void {
    if (volume === this.#volume) return;
    this.#volume = volume;
    this.#options.send({ type: 'volume', value: volume });
  }

  start(play: LinePlay): void {
    this.#play = play;
    this.#id += 1;
    this.#sent = this.#reported = this.#floor = 0;
    this.#isPaused = false;
    this.#endsAt = undefined;
    this.#kept = [];
    this.#begin(0);
  }

  feed(): void {
    const play = this.#play;
    if (!play) return;
    if (play.format && this.#options.isOpen()) this.#give(play);
    // A play without audio is over at once.
    if (play.isDrained) play.moves();
  }

  halt(): void {
    this.#floor = this.heard;
    this.#isPaused = true;
    this.#options.send({ type: 'pause', id: this.#id });
  }

  go(): void {
    if (!this.#play) return;
    this.#isPaused = false;
    this.#reportedAt = this.#options.scheduler.now();
    this.#options.send({ type: 'resume', id: this.#id });
    this.feed();
  }

  finish(): void {
    this.#floor = this.heard;
    this.#play = undefined;
    this.#kept = [];
  }

  cut(): void {
    this.finish();
    this.#options.send({ type: 'cut', id: this.#id });
  }

  /** A page that begins a play drops the previous one. */
  clear(): void {}

  /** More has been heard. */
  report(report: Report): void {
    if (!this.#note(report)) return;
    // A listener may have cut the play.
    this.#play?.sounds();
    this.feed();
    this.#play?.moves();
  }

  /**
   * Continues with a page that has reconnected: with what it did not receive, or with what was not heard if it lost
   * everything.
   */
  resume({ play: id, received, heard }: PageHello): void {
    if (id !== undefined && this.#note({ play: id, at: heard, tailMs: this.#tailMs })) {
      this.#play?.sounds();
      this.#play?.moves();
    }
    if (!this.#play) {
      if (id !== undefined) this.#options.send({ type: 'cut', id });
      return;
    }
    const from =
      id === this.#id ? Math.min(Math.max(received * frameBytes, this.#reported), this.#sent) : this.#reported;
    this.#goOnAt(from);
    this.feed();
  }

  /** Accepts a position, unless it belongs to another play, or is behind the known one. */
  #note({ play: id, at, tailMs }: Report): boolean {
    const heard = Math.min(at * frameBytes, this.#sent);
    if (!this.#play || id !== this.#id || heard < this.#reported) return false;
    if (heard > this.#reported && !this.#isPaused) this.#reportedAt = this.#options.scheduler.now();
    this.#reported = heard;
    this.#tailMs = tailMs;
    this.#tellHeard();
    return heard > 0;
  }

  get #isMoving(): boolean {
    return this.#play !== undefined && !this.#isPaused && this.#reported > 0 && this.#options.isOpen();
  }

  /** Sends again what a page has not received. */
  #goOnAt(position: number): void {
    const warmUp = Math.round(this.#options.warmUpMs * this.#bytesPerMs);
    const from = Math.max(position - warmUp, this.#kept[0]?.at ?? position);
    this.#endsAt = undefined;
    this.#begin(from);
    for (const { at, data } of this.#kept) {
      const skipped = Math.max(0, from - at);
      if (skipped < data.length) this.#sendAudio(at + skipped, data.subarray(skipped));
    }
  }

  #begin(from: number): void {
    const [paused, volume] = [this.#isPaused, this.#volume];
    this.#options.send({ type: 'play', id: this.#id, from: from / frameBytes, paused, volume });
  }

  /** Sends what the page has room for. */
  #give(play: LinePlay): void {
    const { leadMs } = this.#options;
    const least = play.isDrained ? frameBytes : leastMs * this.#bytesPerMs;
    for (;;) {
      const room = leadMs * this.#bytesPerMs - (this.#sent - this.#reported);
      const length = Math.min(play.end - this.#sent, room, pieceMs * this.#bytesPerMs);
      if (length < least) break;
      // After an announced end, it goes on there.
      if (this.#endsAt !== undefined) this.#goOnAt(this.#sent);
      const data = play.queue.read(this.#sent, length - (length % frameBytes));
      this.#kept.push({ at: this.#sent, data });
      this.#sendAudio(this.#sent, data);
      this.#sent += data.length;
    }
    if (!play.isDrained || this.#sent < play.end || this.#endsAt === play.end) return;
    this.#endsAt = play.end;
    this.#options.send({ type: 'end', id: this.#id, at: play.end / frameBytes });
  }

  #sendAudio(at: number, data: Uint8Array<ArrayBuffer>): void {
    this.#options.sendAudio(this.#id, at / frameBytes, data);
  }

  /** Drops what was heard, after passing it to recorders. */
  #tellHeard(): void {
    const { format, scheduler } = this.#options;
    const heard = this.#reported;
    const now = scheduler.now();
    for (let [first] = this.#kept; first && first.at < heard; [first] = this.#kept) {
      const data = first.data.subarray(0, heard - first.at);
      if (data.length < first.data.length) {
        this.#kept[0] = { at: heard, data: first.data.subarray(data.length) };
      } else {
        this.#kept.shift();
      }
      const timestamp = now - (heard - first.at) / this.#bytesPerMs;
      this.#heard$.next({ data, metadata: format, timestamp });
    }
  }
}

/** Plays one stream of audio at a time in a page. */
export class PagePlayout extends Player {
  readonly #line: PageLine;

  constructor(options: PageLineOptions, { playback$, heard$ }: PlayerStreams) {
    const line = new PageLine(options, heard$);
    super(line, { playback$ });
    this.#line = line;
  }

  /** Audio once the page has reported it as heard. Hot. */
  get heard$(): Observable<AudioChunk> {
    return this.#line.heard$;
  }

  /** The call has ended: nothing more will be heard. */
  hold(): void {
    this.#line.halt();
  }

  /** The page's report of what was heard. */
  report(report: Report): void {
    this.#line.report(report);
  }

  /** A page has reconnected. */
  goOn(hello: PageHello): void {
    this.#line.resume(hello);
  }
}
