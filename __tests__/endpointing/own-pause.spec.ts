/**
 * A service that ends an utterance at the first breath makes an agent that interrupts its callers: services tell how
 * short their own pause is, and a turn lasts at least 300 ms of silence.
 */
import { AlphaFlux, AlphaSTT, EpsilonSTT, fallback, GammaSTT, KappaSTT, type STTProvider } from 'rxvoice';
import { turnRules } from '../../lib/conversation/turn-taking/turn-rules.ts';

const auth = { apiKey: 'key' };

describe('the pause after which a service ends an utterance', () => {
  const services: readonly (readonly [string, STTProvider, number | undefined])[] = [
    ['EpsilonSTT, 300 ms by default', new EpsilonSTT(auth), 300],
    ['EpsilonSTT, in seconds on its wire', new EpsilonSTT({ ...auth, endpointing: 0.8 }), 800],
    ['AlphaSTT', new AlphaSTT(auth), 300],
    ['AlphaSTT with its own', new AlphaSTT({ ...auth, options: { endpointing: 10 } }), 10],
    ['AlphaSTT without', new AlphaSTT({ ...auth, options: { endpointing: false } }), undefined],
    ['GammaSTT', new GammaSTT(auth), 1_500],
    ['GammaSTT that is told when', new GammaSTT({ ...auth, commitStrategy: 'manual' }), undefined],
    ['KappaSTT', new KappaSTT({ ...auth, region: 'x', segmentationSilenceTimeoutMs: 200 }), 200],
    ['AlphaFlux, which judges the words', new AlphaFlux(auth), undefined],
    ['a chain: its first service', fallback(new EpsilonSTT(auth), new AlphaFlux(auth)), 300],
  ];
  for (const [name, service, pauseMs] of services) {
    it(name, () => {
      expect(service.pauseMs).toBe(pauseMs);
    });
  }

  it('is made up to 300 ms, unless the application wants otherwise', () => {
    expect(turnRules({ pauseMs: 50 }).bounds.minMs).toBe(300);
    expect(turnRules({ pauseMs: 300 }).bounds.minMs).toBe(0);
    expect(turnRules({}).bounds.minMs).toBe(0);
    expect(turnRules({ pauseMs: 50, endpointing: { minMs: 100 } }).bounds.minMs).toBe(100);
  });
});

describe('a chain of services', () => {
  it('cannot be asked to finalize when none of them can, so that nobody waits for it', () => {
    const [deaf, other] = [new EpsilonSTT(auth), new EpsilonSTT(auth)];
    for (const stt of [deaf, other]) Reflect.set(stt, 'finalize', undefined);
    expect(fallback(deaf, other).finalize).toBeUndefined();
    expect(fallback(deaf, new AlphaSTT(auth)).finalize).toBeInstanceOf(Function);
  });
});
