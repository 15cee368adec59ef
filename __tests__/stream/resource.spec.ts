import { resource } from '../../lib/stream/resource.ts';

/** A resource that opens when a test says so; what its subscriber sees, and what is released. */
function rig() {
  let resolve: (value: string) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const opening = new Promise<string>((...both) => ([resolve, reject] = both));
  const log: unknown[] = [];
  const microphone$ = resource(
    () => {
      log.push('open');
      return opening;
    },
    (value) => log.push(`release ${value}`),
  );
  const observer = {
    next: (value: string) => log.push(value),
    error: (error: unknown) => log.push(error),
    complete: () => log.push('complete'),
  };
  /** Everything that follows from the opening has run. */
  const settled = async (): Promise<void> => {
    await opening.catch(() => undefined);
    await Promise.resolve();
  };
  return { log, subscribe: () => microphone$.subscribe(observer), resolve, reject, settled };
}

describe('resource', () => {
  it('opens for its subscriber, stays open, and is released with the subscription', async () => {
    const { log, subscribe, resolve, settled } = rig();
    expect(log).toEqual([]);
    const subscription = subscribe();
    resolve('microphone');
    await settled();
    expect(log).toEqual(['open', 'microphone']);
    subscription.unsubscribe();
    await settled();
    expect(log).toEqual(['open', 'microphone', 'release microphone']);
  });

  it('is released, unseen, when it opens after its subscriber has gone', async () => {
    const { log, subscribe, resolve, settled } = rig();
    subscribe().unsubscribe();
    expect(log).toEqual(['open']);
    resolve('microphone');
    await settled();
    expect(log).toEqual(['open', 'release microphone']);
  });

  it('fails as its opening does; then there is nothing to release', async () => {
    const { log, subscribe, reject, settled } = rig();
    const subscription = subscribe();
    const denied = new Error('denied');
    reject(denied);
    await settled();
    subscription.unsubscribe();
    await settled();
    expect(log).toEqual(['open', denied]);
  });

  it('says nothing of an opening that fails after its subscriber has gone', async () => {
    const { log, subscribe, reject, settled } = rig();
    subscribe().unsubscribe();
    reject(new Error('denied'));
    await settled();
    expect(log).toEqual(['open']);
  });
});
