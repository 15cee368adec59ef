import { asyncScheduler, type SchedulerLike, type Subscriber } from 'rxjs';
import { Provider } from '../core/provider.ts';
import type { ProviderType } from '../core/roles.ts';

/** Configuration of every fake. */
export interface FakeConfig {
  /** The clock; a TestScheduler for virtual time. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

/** What fakes share. */
export abstract class Fake<C extends FakeConfig = FakeConfig> extends Provider<C> {
  override readonly type: ProviderType = 'rest';

  protected get scheduler(): SchedulerLike {
    return this.config.scheduler ?? asyncScheduler;
  }

  /** Ends what a subscriber gets when `dispose()` begins. */
  protected endWithDispose(subscriber: Subscriber<unknown>): void {
    subscriber.add(this.aborted$('was disposed of').subscribe({ error: subscriber.error.bind(subscriber) }));
  }
}
