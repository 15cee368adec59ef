import { Refusal } from '../vendor.ts';

/** Azure's speech services say nothing but the status. */
export const refuse = (status: number, why: string): Refusal => new Refusal(status, '', why);
