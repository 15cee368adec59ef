import type { ContractCase } from '../../../lib/testing/contracts/contract.ts';

/** Faults by name, and the case that each must turn red. */
export type Faults<F extends string> = Readonly<Record<F, string>>;

/**
 * A provider that keeps the contract passes every case; with a fault, the case that is there for it fails. Each case has
 * a fault.
 *
 * @param covered - Cases whose faults another contract's spec has: they are the same code.
 */
export function describeContract<F extends string>(
  name: string,
  casesOf: (fault?: F) => readonly ContractCase[],
  faults: Faults<F>,
  covered: (name: string) => boolean = () => false,
): void {
  describe(name, () => {
    for (const each of casesOf()) it(`passes: ${each.name}`, each.run);

    for (const [fault, red] of Object.entries(faults) as [F, string][]) {
      it(`fails with a provider that ${fault}: ${red}`, async () => {
        const found = casesOf(fault).find((each) => each.name === red);
        await expect(found?.run()).rejects.toThrow(/\w+ \w+/);
      });
    }

    it('has a fault for each case', () => {
      const names = casesOf().map((each) => each.name);
      expect(names.filter((each) => !Object.values(faults).includes(each) && !covered(each))).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
    });
  });
}

/** Short waits: the providers of these specs answer within milliseconds. */
export const quick = { timeoutMs: 1_000, watchMs: 20 } as const;
