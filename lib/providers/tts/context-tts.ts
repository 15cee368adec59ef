import type { Observable } from 'rxjs';
import type { TTSConfig } from './base-tts.ts';
import { SocketTTS } from './socket-tts.ts';
import type { ContextWire } from './sockets/context-wire.ts';
import { SpeechContexts } from './sockets/speech-contexts.ts';
import type { SynthesisEvent } from './utterance.ts';

/**
 * Text-to-speech over one connection for all utterances, each in a context of its own. What the address holds is fixed
 * for a connection: where a change of the configuration changes it, the next utterance opens another.
 */
export abstract class ContextTTS<C extends TTSConfig> extends SocketTTS<C> {
  #contexts: SpeechContexts | undefined;
  /** The address of the present connection. */
  #address: string | undefined;
  readonly #retired = new Set<SpeechContexts>();

  override warm(): void {
    this.#open().warm();
  }

  /** The wire of one connection, with what is fixed for it as the configuration is now. */
  protected abstract contextWire(): ContextWire;

  protected override synthesis(text$: Observable<string>): Observable<SynthesisEvent> {
    return this.#open().speak(text$);
  }

  protected override onConfigUpdate(): void {
    if (this.initialized) this.warm();
  }

  protected override async onDispose(): Promise<void> {
    await Promise.all([...this.#retired, ...(this.#contexts ? [this.#contexts] : [])].map((each) => each.close()));
    this.#contexts = undefined;
    await super.onDispose();
  }

  #open(): SpeechContexts {
    const address = this.socketUrl().href;
    const present = this.#contexts;
    if (present && address === this.#address) return present;
    const contexts = new SpeechContexts({
      ...this.linkOptions(),
      wire: this.contextWire(),
      closed: (each) => {
        this.#retired.delete(each);
        this.removeSession(each.session);
      },
    });
    this.#contexts = contexts;
    this.#address = address;
    if (present) {
      this.#retired.add(present);
      present.retire();
    }
    return contexts;
  }
}
