import { VoiceError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { ProviderContract } from '../../core/roles.ts';
import { check, checkError, fail, Recorded, shown, type Bench, type ContractCase } from './contract.ts';

/** The rules of every provider: its name, its lifecycle, its streams, its errors. */
export function casesOfAll<P extends ProviderContract, T>(bench: Bench<P, T>): ContractCase[] {
  const { kit } = bench;
  const { create } = kit;
  return [
    bench.case('says its name and its roles', create, (provider) => {
      check(typeof provider.name === 'string' && provider.name !== '', `its name is ${shown(provider.name)}`);
      check(provider.roles.includes(kit.role), `its roles lack ${kit.role}`);
      return Promise.resolve();
    }),

    bench.case('is ready from initialize() to dispose(), again and again', create, async (provider) => {
      const at = (when: string, isReady: boolean): void =>
        check(provider.isReady() === isReady, `${when}, isReady() is ${!isReady}`);
      at('before initialize()', false);
      for (const round of ['', ', the second time']) {
        await bench.inTime(Promise.all([provider.initialize(), provider.initialize()]), `initialize()${round}`);
        at(`after initialize()${round}`, true);
        await bench.inTime(provider.initialize(), 'initialize() of a ready provider');
        at(`after initialize() of a ready provider`, true);
        await bench.inTime(Promise.all([provider.dispose(), provider.dispose()]), `dispose()${round}`);
        at(`after dispose()${round}`, false);
      }
      await bench.inTime(provider.dispose(), 'dispose() of a disposed provider');
    }),

    bench.case('has one stream of each name, however often it is read', create, async (provider) => {
      const before = bench.streamsOf(provider);
      await bench.inTime(provider.initialize(), 'initialize()');
      const after = bench.streamsOf(provider);
      for (const [name, stream$] of before) {
        check(Reflect.get(provider, name) === stream$, `${name} is another stream each time that it is read`);
        check(after.get(name) === stream$, `${name} is another stream after initialize()`);
      }
    }),

    bench.case('fails before initialize() with a VoiceError, if it fails', create, async (provider) => {
      let error: unknown;
      try {
        const work = bench.begin(kit.work$(provider, 0));
        await Promise.race([work.ended('the work').catch(() => undefined), bench.watch()]);
        work.cancel();
        if (!work.hasFailed) return;
        error = work.error;
      } catch (thrown) {
        error = thrown;
      }
      checkError(error, provider, 'before initialize()');
    }),

    ...failures(bench),
  ];
}

/** The rules of what is cold: subscribing starts the work, unsubscribing ends it. */
export function casesOfWork<P extends ProviderContract, T>(bench: Bench<P, T>, what: string): ContractCase[] {
  const { kit } = bench;
  const cases = [
    bench.with(`${what}: nothing happens until somebody subscribes`, async (provider) => {
      const recorded = new Recorded(kit.hot$(provider));
      void kit.work$(provider, 0);
      await bench.watch();
      check(recorded.heard.length === 0, 'its stream emitted, although nobody subscribed to the work');
      recorded.close();
    }),

    bench.with(`${what}: everybody hears what its subscriber gets`, async (provider) => {
      const [one, two] = [new Recorded(kit.hot$(provider)), new Recorded(kit.hot$(provider))];
      const values = await bench.whole(provider, 0);
      check(values.length > 0, 'it gave nothing');
      check(one.heard.length > 0, 'its stream emitted nothing');
      check(one.heard.length === two.heard.length, 'two subscribers of its stream heard different things');
      check([...one.ends, ...two.ends].length === 0, `its stream ${one.ends.join()} with one piece of work`);
      one.close();
      two.close();
    }),

    bench.with(`${what}: unsubscribing cancels, and nothing more comes`, async (provider) => {
      const work = bench.begin(kit.work$(provider, 0));
      await work.begun('the work');
      work.cancel();
      // What it tells in the same tick, such as the end of the words so far, is no late output.
      const recorded = new Recorded(kit.hot$(provider));
      await bench.watch();
      check(
        recorded.heard.length === 0,
        `its stream emitted ${recorded.heard.length} times after the work was cancelled`,
      );
      recorded.close();
    }),

    bench.with(`${what}: dispose() ends it, and nothing comes afterwards`, async (provider) => {
      const work = bench.begin(kit.work$(provider, 0));
      await work.begun('the work');
      await bench.inTime(provider.dispose(), 'dispose() in the middle of the work');
      const recorded = new Recorded(kit.hot$(provider));
      const { length } = work.values;
      await work.ended('the work that dispose() ends');
      await bench.watch();
      check(recorded.heard.length === 0, `its stream emitted ${recorded.heard.length} times after dispose()`);
      check(work.values.length === length, 'the work gave something after dispose()');
      if (work.hasFailed) checkError(work.error, provider, 'when dispose() ends the work');
      recorded.close();
    }),
  ];
  if (!kit.options.inUse) return cases;
  return [
    ...cases,
    bench.with(`${what}: unsubscribing ends it at the service`, async (provider) => {
      const idle = kit.options.inUse?.() ?? 0;
      const done = bench.begin(kit.work$(provider, 0));
      await done.ended('the work');
      const between = kit.options.inUse?.() ?? 0;
      const work = bench.begin(kit.work$(provider, 0));
      await bench.uses((inUse) => inUse > idle || work.isOver, 'subscribing does not reach the service');
      work.cancel();
      await bench.uses((inUse) => inUse <= Math.max(idle, between), 'unsubscribing does not end the work');
    }),
    bench.case(`${what}: dispose() leaves nothing open at the service`, kit.create, async (provider) => {
      const idle = kit.options.inUse?.() ?? 0;
      await bench.inTime(provider.initialize(), 'initialize()');
      for (let count = 0; count < 3; count++) {
        const work = bench.begin(kit.work$(provider, 0));
        await work.begun('the work');
        work.cancel();
      }
      const last = bench.begin(kit.work$(provider, 0));
      await last.begun('the work');
      await bench.inTime(provider.dispose(), 'dispose()');
      await bench.uses((inUse) => inUse <= idle, 'dispose() leaves something open');
    }),
  ];
}

/** The rules of failures, with a provider whose service fails. */
function failures<P extends ProviderContract, T>(bench: Bench<P, T>): ContractCase[] {
  const { failing, credential } = bench.kit.options;
  if (!failing) return [];
  const failure = async (provider: P, logger?: Logger): Promise<unknown> => {
    try {
      await bench.inTime(provider.initialize(logger && { logger }), 'initialize()');
    } catch (error) {
      return error;
    }
    const work = bench.begin(bench.kit.work$(provider, 0));
    await work.ended('the work that fails');
    return work.hasFailed ? work.error : fail('it did not fail, although its service did');
  };
  const ofError = bench.case('fails with a VoiceError that names it', failing, async (provider) => {
    const error = await failure(provider);
    checkError(error, provider, 'when its service fails');
    check(error.provider === provider.name, 'its error does not name the provider');
    check(error.message !== '', 'its error has no message');
  });
  if (!credential) return [ofError];
  const ofCredential = bench.case('tells nobody its credential', failing, async (provider) => {
    const lines: unknown[] = [];
    const write = (...line: unknown[]): unknown => lines.push(line);
    const logger: Logger = { debug: write, info: write, warn: write, error: write, scope: () => logger };
    const errors = provider.errors$ && new Recorded(provider.errors$);
    const error = await failure(provider, logger);
    errors?.close();
    const places = { 'its error': error, 'its errors': errors?.heard, 'its log': lines };
    for (const [place, told] of Object.entries(places)) {
      check(!textOf(told).includes(credential), `its credential is in ${place}`);
    }
    check(!JSON.stringify(provider).includes(credential), 'its credential is in JSON.stringify(provider)');
  });
  return [ofError, ofCredential];
}

/** All text of a value, its causes and members included, down to six levels. */
function textOf(value: unknown, depth: number = 6, seen: Set<object> = new Set<object>()): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null || depth === 0 || seen.has(value)) return '';
  seen.add(value);
  const members = Reflect.ownKeys(value).map((key) => {
    const member = Reflect.getOwnPropertyDescriptor(value, key);
    return `${String(key)} ${textOf(member?.value, depth - 1, seen)}`;
  });
  const json: unknown = VoiceError.is(value) ? value.toJSON() : undefined;
  return [...members, textOf(json, depth - 1, seen)].join('\n');
}
