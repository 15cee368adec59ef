import { Provider } from '../core/provider.ts';

/** Needs no service and no device: it works before `initialize()`, too. */
export abstract class Ready extends Provider<object> {
  readonly type = 'rest';

  constructor() {
    super({});
  }
}
