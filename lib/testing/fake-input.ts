import { Subject, type Observable } from 'rxjs';
import type { AudioChunk, AudioMetadata } from '../audio/types.ts';
import type { InputProvider, ProviderRole } from '../core/roles.ts';
import { Fake, type FakeConfig } from './fake.ts';
import { textAudioFormat } from './text-audio.ts';

/** An input whose audio the test pushes. */
export class FakeInput extends Fake implements InputProvider {
  override readonly name = 'FakeInput';
  override readonly roles: readonly ProviderRole[] = ['input'];
  readonly #audio$ = new Subject<AudioChunk>();
  #state: 'stopped' | 'capturing' | 'paused' = 'stopped';

  constructor(config: FakeConfig = {}) {
    super(config);
  }

  get audio$(): Observable<AudioChunk> {
    return this.handOut('audio$', this.#audio$);
  }

  /** Captures a chunk. As a microphone, it hears nothing before `start()`, after `stop()`, or while paused. */
  push(chunk: AudioChunk): void {
    if (this.#state === 'capturing') this.#audio$.next(chunk);
  }

  start(): Promise<void> {
    this.#state = 'capturing';
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.#state = 'stopped';
    return Promise.resolve();
  }

  pause(): void {
    if (this.#state === 'capturing') this.#state = 'paused';
  }

  resume(): void {
    if (this.#state === 'paused') this.#state = 'capturing';
  }

  getMetadata(): AudioMetadata {
    return textAudioFormat;
  }

  protected override onDispose(): void | Promise<void> {
    this.#state = 'stopped';
  }
}
