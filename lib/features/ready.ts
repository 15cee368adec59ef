import { Provider } from '../core/provider.ts';

/** Needs no service and no device, so it is always ready. */
export abstract class Ready extends Provider<object> {
  readonly type = 'rest';

  constructor() {
    super({});
  }

  override isReady(): boolean {
    return true;
  }
}
