import { ProviderInitializationError } from './errors.ts';

/** Code that is loaded only when needed, so that applications that never need it do not load it. */
export class OnDemand<P> {
  readonly name: string;
  readonly #load: () => Promise<P>;

  /** @param name - The provider that needs it. */
  constructor(name: string, load: () => Promise<P>) {
    this.name = name;
    this.#load = load;
  }

  /** @throws ProviderInitializationError when the code cannot be loaded; a later call retries. */
  async load(): Promise<P> {
    try {
      return await this.#load();
    } catch (cause) {
      throw new ProviderInitializationError(this.name, cause, 'its code could not be loaded: is the page offline?');
    }
  }
}
