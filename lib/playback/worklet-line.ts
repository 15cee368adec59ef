import { asyncScheduler, filter, interval, map, Subscription, tap, type SchedulerLike } from 'rxjs';
import { frameBytes } from '../audio/formats.ts';
import { float32View } from '../audio/samples.ts';
import type { AudioMetadata } from '../audio/types.ts';
import type { DeviceEvent } from '../core/roles.ts';
import { closeContext } from './audio-context.ts';
import { keepRunning } from './keep-running.ts';
import type { LinePlay, PlaybackLine } from './line.ts';
import { playbackProcessor } from './processors.ts';

/** Reports of the playback worklet. Frames count from the start of the context (`at`) and of the play (`played`). */
interface WorkletReport {
  /** `run`: frame `played` sounds at `at`; `rest`: silence from `at` on; `tick`: time passes. */
  readonly type: 'run' | 'rest' | 'tick';
  readonly play: number;
  readonly at: number;
  readonly played: number;
}

/** A context with a playback worklet. */
interface PlaybackWorklet {
  readonly context: AudioContext;
  readonly node: AudioWorkletNode;
  /** The volume node. */
  readonly gain: GainNode;
  /** Channels of the node. */
  readonly channels: number;
}

/** Options of a {@link WorkletLine}. */
export interface WorkletLineOptions {
  /** Called when something starts to play. */
  readonly onBegin: () => void;
  /** Called when the context claims to run but its clock stands still. */
  readonly onFrozen: () => void;
  /** Called when the browser stops the context, and when it lets it run again. */
  readonly onDevice: (event: DeviceEvent) => void;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike | undefined;
}

/** Audio queued in the worklet, in milliseconds: how long the page's thread may sleep. */
const leadMs = 5_000;

/** Longest chunk passed to the worklet, in milliseconds. */
const pieceMs = 500;

/** Interval between checks of the context's clock, in milliseconds, and how many times it may stand still. */
const watchMs = 1_000;
const maxStandstills = 2;

/** Frames heard without a gap: frame `from` of the play at frame `at` of the context. */
interface Run {
  at: number;
  readonly from: number;
  to: number;
}

/**
 * Plays through the playback worklet on the audio hardware's clock: playback continues in a hidden page, whose timers
 * are throttled. The worklet reports which frame of a play sounds at which frame of the context; the context, which of
 * its frames is leaving the speaker. So what was heard is known to the frame.
 */
export class WorkletLine implements PlaybackLine {
  readonly #options: WorkletLineOptions;
  #worklet: PlaybackWorklet | undefined;
  #play: LinePlay | undefined;
  /** Identifies a play's reports. */
  #id = 0;
  /** Frames given to the worklet, played by it, and definitely heard. */
  #fed = 0;
  #played = 0;
  #floor = 0;
  /** When which frames sounded, oldest relevant first. */
  #runs: Run[] = [];
  /** Bytes per frame of the play. */
  #frameBytes = 4;
  #volume = 1;
  #watch = Subscription.EMPTY;

  constructor(options: WorkletLineOptions) {
    this.#options = options;
  }

  get context(): AudioContext | undefined {
    return this.#worklet?.context;
  }

  get heard(): number {
    return this.#framesHeard() * this.#frameBytes;
  }

  get tailMs(): number {
    const { context } = this.#worklet ?? {};
    if (!context || this.#played === this.heard / this.#frameBytes) return 0;
    return Math.max(
      0,
      ((context.currentTime * context.sampleRate - soundingFrame(context)) / context.sampleRate) * 1_000,
    );
  }

  /** Counts only what the worklet has reported: ending the play cuts off the rest. */
  isHeard(offset: number): boolean {
    return offset <= Math.min(this.heard, this.#played * this.#frameBytes);
  }

  formatFor({ channels }: AudioMetadata): AudioMetadata | undefined {
    if (!this.#worklet) return undefined;
    const { context, channels: most } = this.#worklet;
    const { sampleRate } = context;
    return { encoding: 'linear32', sampleRate, channels: Math.min(channels, most), bitDepth: 32 };
  }

  /**
   * Switches to this context and keeps it running; what is playing continues there, from the first unheard frame.
   *
   * @param gain - Its volume node, connected to where the audio goes.
   * @returns What closes the context.
   */
  open(context: AudioContext, gain: GainNode, channels: number): Subscription {
    const { onDevice, scheduler } = this.#options;
    const node = new AudioWorkletNode(context, playbackProcessor, {
      numberOfInputs: 0,
      outputChannelCount: [channels],
    });
    node.connect(gain);
    const opened = new Subscription();
    // Ends first: a context that closes is not kept running.
    opened.add(keepRunning(context, scheduler).pipe(tap(onDevice)).subscribe());
    opened.add(() => {
      node.port.postMessage({ type: 'close' });
      node.port.close();
      closeContext(context, scheduler);
    });
    this.#attach({ context, node, gain, channels });
    return opened;
  }

  #attach(worklet: PlaybackWorklet): void {
    const heard = this.#framesHeard();
    this.#worklet = worklet;
    worklet.gain.gain.value = this.#volume;
    worklet.node.port.onmessage = ({ data }: MessageEvent<WorkletReport>) => {
      if (this.#worklet === worklet && this.#play && data.play === this.#id) this.#report(this.#play, data);
    };
    if (!this.#play) return;
    this.#begin(heard, this.#play.isSilent);
    this.#give(this.#play);
  }

  start(play: LinePlay): void {
    this.#play = play;
    this.#id++;
    this.#begin(0, false);
    this.#watch = this.#watchOver();
    this.#options.onBegin();
  }

  feed(): void {
    const play = this.#play;
    if (!play) return;
    this.#give(play);
    if (play.isDrained) play.moves();
  }

  halt(): void {
    this.#post({ type: 'pause' });
  }

  go(): void {
    this.#post({ type: 'resume' });
  }

  finish(): void {
    this.#floor = this.#framesHeard();
    this.#runs = [];
    this.#play = undefined;
    this.#watch.unsubscribe();
    this.#post({ type: 'cut' });
  }

  cut(): void {
    this.finish();
  }

  /** The worklet holds nothing of earlier plays. */
  clear(): void {}

  setVolume(volume: number): void {
    this.#volume = volume;
    const { gain, context } = this.#worklet ?? {};
    gain?.gain.setTargetAtTime(volume, context?.currentTime ?? 0, 0.01);
  }

  #begin(from: number, paused: boolean): void {
    this.#fed = this.#played = this.#floor = from;
    this.#runs = [];
    this.#post({ type: 'begin', play: this.#id, from, paused });
  }

  /** Fills the worklet's queue, and tells it when nothing follows. */
  #give(play: LinePlay): void {
    const { format, queue, end, isDrained } = play;
    if (format) this.#frameBytes = frameBytes(format);
    const total = Math.floor(end / this.#frameBytes);
    if (this.#fed < total) this.#delay();
    for (let room = 1; format && room > 0 && this.#fed < total;) {
      room = this.#frames(leadMs) - (this.#fed - this.#played);
      const frames = Math.min(total - this.#fed, room, this.#frames(pieceMs));
      if (frames <= 0) break;
      const bytes = queue.read(this.#fed * this.#frameBytes, frames * this.#frameBytes);
      const channels = deal(float32View(bytes), format.channels);
      this.#post({ type: 'push', play: this.#id, channels }, channels);
      this.#fed += frames;
    }
    if (isDrained) this.#post({ type: 'end', play: this.#id });
  }

  /** What is given now sounds now at the earliest: if the worklet has had nothing left, its report may still be on its way. */
  #delay(): void {
    const last = this.#runs.at(-1);
    const { currentTime = 0, sampleRate = 0 } = this.context ?? {};
    if (last?.to === Infinity) last.at = Math.max(last.at, currentTime * sampleRate - (this.#fed - last.from));
  }

  #report(play: LinePlay, { type, at, played }: WorkletReport): void {
    this.#played = played;
    const last = this.#runs.at(-1);
    if (type === 'run') this.#runs.push({ at, from: played, to: Infinity });
    if (type === 'rest' && last) last.to = played;
    this.#give(play);
    if (this.#framesHeard() > 0) play.sounds();
    // A listener may have cut it.
    if (this.#play === play) play.moves();
  }

  /** Safari's contexts can claim to run while they do not. */
  #watchOver(): Subscription {
    let last = -1;
    let standstills = 0;
    return interval(watchMs, this.#options.scheduler ?? asyncScheduler)
      .pipe(
        map(() => this.context),
        filter((context) => context !== undefined),
        tap((context) => {
          const isMeantToRun = context.state === 'running' && this.#play?.isSilent === false;
          standstills = isMeantToRun && context.currentTime === last ? standstills + 1 : 0;
          last = context.currentTime;
          if (standstills < maxStandstills) return;
          standstills = 0;
          this.#options.onFrozen();
        }),
      )
      .subscribe();
  }

  #framesHeard(): number {
    if (!this.#worklet || this.#runs.length === 0) return this.#floor;
    const now = soundingFrame(this.#worklet.context);
    for (const { at, from, to } of this.#runs) {
      if (at > now) break;
      this.#floor = Math.max(this.#floor, Math.floor(Math.min(from + now - at, to, this.#fed)));
    }
    while (this.#runs.length > 1 && (this.#runs[0]?.to ?? 0) <= this.#floor) this.#runs.shift();
    return this.#floor;
  }

  #frames(ms: number): number {
    return Math.round((ms * (this.context?.sampleRate ?? 0)) / 1000);
  }

  #post(command: Readonly<Record<string, unknown>>, pieces: readonly Float32Array<ArrayBuffer>[] = []): void {
    this.#worklet?.node.port.postMessage(
      command,
      pieces.map(({ buffer }) => buffer),
    );
  }
}

/** The frame of a context that is now leaving the speaker. */
function soundingFrame(context: AudioContext): number {
  const { contextTime = 0 } = context.getOutputTimestamp();
  const latency = context.outputLatency || context.baseLatency || 0;
  return (contextTime > 0 ? contextTime : context.currentTime - latency) * context.sampleRate;
}

/** Deinterleaves samples. */
function deal(samples: Float32Array<ArrayBuffer>, channels: number): Float32Array<ArrayBuffer>[] {
  if (channels === 1) return [samples.slice()];
  return Array.from({ length: channels }, (_, channel) =>
    Float32Array.from({ length: samples.length / channels }, (_each, at) => samples[at * channels + channel] ?? 0),
  );
}
