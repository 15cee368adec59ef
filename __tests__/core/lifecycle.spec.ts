import {
  createLogger,
  Provider,
  ProviderInitializationError,
  VoiceError,
  type Logger,
  type ProviderState,
} from 'rxvoice';
import { settle } from '../transport/test-clock.ts';

/** A provider whose hooks the test ends. */
class Hooked extends Provider<{ readonly size?: number; readonly name?: string }> {
  override readonly name = 'Hooked';
  override readonly roles = ['tts'] as const;
  override readonly type = 'rest';
  readonly calls: string[] = [];
  updates: unknown[] = [];
  signal: AbortSignal | undefined;
  initializeHook: () => Promise<void> = () => Promise.resolve();
  disposeHook: () => Promise<void> = () => Promise.resolve();

  protected override onInitialize(signal: AbortSignal): Promise<void> {
    this.calls.push('initialize');
    this.signal = signal;
    return this.initializeHook();
  }

  protected override onDispose(): Promise<void> {
    this.calls.push('dispose');
    return this.disposeHook();
  }

  protected override onConfigUpdate(changed: Partial<{ readonly size?: number }>): void {
    this.updates.push(changed);
  }

  use(): void {
    this.assertReady('use');
  }

  warn(message: string): void {
    this.logger.warn(message);
  }
}

/** A promise and what settles it. */
function deferred(): { promise: Promise<void>; resolve: () => void; reject: (error: unknown) => void } {
  let resolve: () => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<void>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

describe('the lifecycle table', () => {
  it('not initialized + initialize(), the hook succeeds: initialized', async () => {
    const provider = new Hooked({});
    expect(provider.isReady()).toBe(false);
    await provider.initialize();
    expect(provider.isReady()).toBe(true);
  });

  it('not initialized + initialize(), the hook rejects: not initialized, and the error names the provider', async () => {
    const provider = new Hooked({});
    const cause = new Error('no network');
    provider.initializeHook = () => Promise.reject(cause);
    const error: unknown = await provider.initialize().catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProviderInitializationError);
    expect(error).toMatchObject({ provider: 'Hooked', cause, message: 'Hooked could not be initialized: no network' });
    expect(provider.isReady()).toBe(false);
  });

  it('keeps the code of a wrapped error', async () => {
    const provider = new Hooked({});
    provider.initializeHook = () => Promise.reject(new VoiceError('no', { code: 'unauthorized', status: 401 }));
    await expect(provider.initialize()).rejects.toMatchObject({ code: 'unauthorized', status: 401 });
  });

  it('says once that it could not be initialized', async () => {
    const provider = new Hooked({});
    const cause = new ProviderInitializationError('Hooked', undefined, 'it needs a credential');
    provider.initializeHook = () => Promise.reject(cause);
    await expect(provider.initialize()).rejects.toBe(cause);
    provider.initializeHook = () => Promise.reject(new ProviderInitializationError('Another', undefined, 'it is away'));
    await expect(provider.initialize()).rejects.toMatchObject({
      message: 'Hooked could not be initialized: Another could not be initialized: it is away',
    });
  });

  it('initialized + initialize(): no-op', async () => {
    const provider = new Hooked({});
    await provider.initialize();
    await provider.initialize();
    expect(provider.calls).toEqual(['initialize']);
  });

  it('initialized + dispose(): not initialized, the hook runs', async () => {
    const provider = new Hooked({});
    await provider.initialize();
    await provider.dispose();
    expect(provider.isReady()).toBe(false);
    expect(provider.calls).toEqual(['initialize', 'dispose']);
  });

  it('initialized + dispose(), the hook raises: re-thrown, and not initialized', async () => {
    const provider = new Hooked({});
    await provider.initialize();
    provider.disposeHook = () => Promise.reject(new Error('stuck'));
    await expect(provider.dispose()).rejects.toThrow('stuck');
    expect(provider.isReady()).toBe(false);
  });

  it('not initialized + dispose(): no-op', async () => {
    const provider = new Hooked({});
    await provider.dispose();
    expect(provider.calls).toEqual([]);
  });

  it('can be initialized again after it was disposed', async () => {
    const provider = new Hooked({});
    await provider.initialize();
    await provider.dispose();
    await provider.initialize();
    expect(provider.isReady()).toBe(true);
  });
});

describe('the lifecycle under fire', () => {
  it('shares one run among concurrent initialize() calls', async () => {
    const provider = new Hooked({});
    const { promise, resolve } = deferred();
    provider.initializeHook = () => promise;
    const calls = [provider.initialize(), provider.initialize()];
    resolve();
    await Promise.all(calls);
    expect(provider.calls).toEqual(['initialize']);
  });

  it('ends disposed when dispose() comes during initialize(), even if the hook never ends', async () => {
    const provider = new Hooked({});
    provider.initializeHook = () => new Promise(() => undefined);
    const starting = provider.initialize().catch((error: unknown) => error);
    await Promise.resolve();
    await provider.dispose();
    expect(await starting).toMatchObject({ code: 'aborted' });
    expect(provider.signal?.aborted).toBe(true);
    expect(provider.isReady()).toBe(false);
  });

  it('ends disposed when the hook itself calls dispose() at once', async () => {
    const provider = new Hooked({});
    provider.initializeHook = () => {
      void provider.dispose();
      return Promise.resolve();
    };
    await expect(provider.initialize()).rejects.toMatchObject({ code: 'aborted' });
    await provider.dispose();
    expect(provider.isReady()).toBe(false);
  });

  it('releases what a hook takes that succeeds too late', async () => {
    const provider = new Hooked({});
    const { promise, resolve } = deferred();
    provider.initializeHook = () => promise;
    const starting = provider.initialize().catch(() => undefined);
    await Promise.resolve();
    await provider.dispose();
    provider.calls.length = 0;
    const released = new Promise<void>((done) => {
      provider.disposeHook = () => {
        done();
        return Promise.resolve();
      };
    });
    resolve();
    await Promise.all([starting, released]);
    expect(provider.calls).toEqual(['dispose']);
    expect(provider.isReady()).toBe(false);
  });

  it('releases nothing of a later run when an earlier hook ends at last', async () => {
    const provider = new Hooked({});
    const first = deferred();
    provider.initializeHook = () => first.promise;
    const given = provider.initialize().catch(() => undefined);
    await Promise.resolve();
    await provider.dispose();
    await given;
    provider.initializeHook = () => Promise.resolve();
    await provider.initialize();
    first.resolve();
    await settle();
    expect(provider.calls).toEqual(['initialize', 'dispose', 'initialize']);
    expect(provider.isReady()).toBe(true);
  });

  it('begins anew after a hook that never ends', async () => {
    const provider = new Hooked({});
    provider.initializeHook = () => new Promise(() => undefined);
    const given = provider.initialize().catch(() => undefined);
    await Promise.resolve();
    await provider.dispose();
    await given;
    provider.initializeHook = () => Promise.resolve();
    await provider.initialize();
    expect(provider.isReady()).toBe(true);
  });

  it('waits with initialize() until a running dispose() is through', async () => {
    const provider = new Hooked({});
    await provider.initialize();
    const { promise, resolve } = deferred();
    provider.disposeHook = () => promise;
    const stopping = provider.dispose();
    const starting = provider.initialize();
    resolve();
    await Promise.all([stopping, starting]);
    expect(provider.calls).toEqual(['initialize', 'dispose', 'initialize']);
    expect(provider.isReady()).toBe(true);
  });

  it('ends disposed when dispose() comes as an initialize() begins that has waited for another dispose()', async () => {
    const provider = new Hooked({});
    await provider.initialize();
    const stopped = provider.dispose();
    const starting = provider.initialize().catch((error: unknown) => error);
    await stopped.then(() => provider.dispose());
    expect(await starting).toMatchObject({ code: 'aborted' });
    expect(provider.isReady()).toBe(false);
  });

  it('shares one run among concurrent dispose() calls', async () => {
    const provider = new Hooked({});
    await provider.initialize();
    await Promise.all([provider.dispose(), provider.dispose(), provider[Symbol.asyncDispose]()]);
    expect(provider.calls).toEqual(['initialize', 'dispose']);
  });

  it('tells its states in order', async () => {
    const provider = new Hooked({});
    const states: ProviderState[] = [];
    provider.state$.subscribe((state) => states.push(state));
    await provider.initialize();
    await provider.dispose();
    expect(states).toEqual(['uninitialized', 'initializing', 'ready', 'disposing', 'uninitialized']);
  });

  it('refuses guarded methods while it is not initialized, and says what to do', async () => {
    const provider = new Hooked({});
    expect(() => provider.use()).toThrow('Hooked.use() needs an initialized provider: await Hooked.initialize() first');
    await provider.initialize();
    expect(() => provider.use()).not.toThrow();
  });
});

describe('the logger', () => {
  const kept = (lines: string[], scope: string): Logger => {
    const write = (line: string): void => void lines.push(line);
    return createLogger({ debug: write, info: write, warn: write, error: write }, { scope });
  };

  it('is the one of the constructor, whatever initialize() brings', async () => {
    const lines: string[] = [];
    const provider = new Hooked({}, kept(lines, 'own'));
    provider.warn('before');
    await provider.initialize({ logger: kept(lines, 'pipeline') });
    provider.warn('after');
    expect(lines).toEqual(['[own] before', '[own] after']);
  });

  it('is the first one that initialize() brings where the constructor was given none', async () => {
    const lines: string[] = [];
    const provider = new Hooked({});
    provider.warn('to nobody');
    await provider.initialize();
    await provider.initialize({ logger: kept(lines, 'first') });
    await provider.initialize({ logger: kept(lines, 'second') });
    provider.warn('heard');
    expect(lines).toEqual(['[first] heard']);
  });
});

describe('updateConfig', () => {
  it('merges keys over the configuration, then runs the hook', () => {
    const given = { size: 1, name: 'a' };
    const provider = new Hooked(given);
    provider.updateConfig({ size: 2 });
    expect(provider.config).toEqual({ size: 2, name: 'a' });
    expect(provider.updates).toEqual([{ size: 2 }]);
    expect(given).toEqual({ size: 1, name: 'a' });
  });
});
