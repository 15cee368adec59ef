/** Whoever migrates copies names out of a table that no compiler reads: all that it says of rxvoice must exist. */
import { readFileSync } from 'node:fs';
import * as library from '../../lib/index.ts';
import { eventStreams, Pipeline, type PipelineOptions } from '../../lib/index.ts';

const guide = readFileSync('docs/frameworks.md', 'utf8');
const rows = [...guide.matchAll(/^\|(?: [^|]+\|){4} ([^|]+) \|$/gm)].map(([, ours = '']) => ours).slice(2);
const named = rows.flatMap((ours) => [...ours.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
const events: readonly string[] = Object.values(eventStreams).flat();
const streams: readonly string[] = Object.keys(eventStreams);
/** The members of an event and its states, which have no value at run time. */
const typed = ['heardText', 'listening', 'thinking', 'speaking'];
/** These as well; the compiler knows them. */
const options: readonly (keyof PipelineOptions)[] = ['greeting', 'systemPrompt', 'tools'];

function isOurs(name: string): boolean {
  const called = /^(\w+)\(\w*\)$/.exec(name)?.[1];
  if (called !== undefined) return called in Pipeline.prototype || Object.hasOwn(library, called);
  return [events, streams, typed, options].some((known: readonly string[]) => known.includes(name));
}

describe('the table for those who come from another SDK', () => {
  it('is read', () => expect([rows.length, named.length > 25]).toEqual([16, true]));

  it('names of rxvoice what is there', () => expect(named.filter((name) => !isOurs(name))).toEqual([]));
});
