import { Provider } from '../core/provider.ts';

/** What needs no service and no device is always ready. */
export abstract class Ready extends Provider<object> {
  readonly type = 'rest';

  constructor() {
    super({});
  }

  override isReady(): boolean {
    return true;
  }
}
