/**
 * A conversation outlives what was known when it began: the caller is verified, changes the language, holds the phone to
 * the ear. What changes is an input like any other, and counts from a moment that one can rely on.
 */
import { of } from 'rxjs';
import type { LLMEvent, Message } from 'rxvoice';
import { application, user, voiceTest } from 'rxvoice/testing';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

const longAnswer = 'One two three four five six seven eight nine ten eleven twelve thirteen.';
const instructions = (messages: readonly Message[] = []): string | undefined =>
  messages.find(({ role }) => role === 'system')?.content;

describe('update', () => {
  it('tells what changed', () => {
    const { events } = voiceTest({
      steps: { 100: application.updates({ systemPrompt: 'Be brief.', bargeIn: false }) },
    });
    expect(timeline(events, 'session.updated')).toEqual(['100 session.updated systemPrompt, bargeIn']);
  });

  it('of the system prompt counts from the next request to the model', () => {
    const { llm } = voiceTest({
      systemPrompt: 'old',
      steps: {
        0: user.final('one'),
        50: application.updates({ systemPrompt: 'new' }),
        5_000: user.final('two'),
        10_000: application.updates({ systemPrompt: undefined }),
        15_000: user.final('three'),
      },
    });
    expect(llm.requests.map(({ messages }) => instructions(messages))).toEqual(['old', 'new', undefined]);
  });

  it('of the tools and the system prompt counts within an answer: in the round after its tools', () => {
    const call: LLMEvent = { type: 'tool-call', id: 'c', name: 'verify', args: {}, argsText: '{}' };
    const answer = (messages: readonly Message[]): string | readonly LLMEvent[] =>
      messages.at(-1)?.role === 'tool' ? 'Done.' : [call];
    const { llm } = voiceTest({
      systemPrompt: 'old',
      tools: [{ name: 'verify', execute: () => of('yes') }],
      llm: { answer, firstTokenMs: 100 },
      steps: {
        0: user.final('one'),
        50: application.updates({ systemPrompt: 'new', tools: [{ name: 'pay', execute: () => of('paid') }] }),
      },
    });
    const asked = llm.requests.map(({ messages, options }) => [
      instructions(messages),
      options.tools?.map(({ name }) => name),
    ]);
    expect(asked).toEqual([
      ['old', ['verify']],
      ['new', ['pay']],
    ]);
  });

  it('of what an answer is made with discards one that was prepared without it', () => {
    const { events, llm } = voiceTest({
      systemPrompt: 'old',
      steps: {
        0: user.preflight('hello'),
        50: application.updates({ systemPrompt: 'new' }),
        300: user.final('hello'),
      },
    });
    expect(timeline(events, 'preflight.discarded', 'preflight.adopted')).toEqual(['50 preflight.discarded changed']);
    expect(instructions(llm.requests.at(-1)?.messages)).toBe('new');
  });

  it('of anything else keeps the prepared answer', () => {
    const { events } = voiceTest({
      steps: { 0: user.preflight('hello'), 50: application.updates({ bargeIn: false }), 300: user.final('hello') },
    });
    expect(timeline(events, 'preflight.discarded', 'preflight.adopted')).toEqual(['300 preflight.adopted 300']);
  });

  it('of barge-in counts at once, for what is being said too', () => {
    const { events } = voiceTest({
      llm: { answer: () => longAnswer },
      steps: {
        0: user.final('count'),
        800: application.updates({ bargeIn: false }),
        1_000: user.final('stop that please'),
        1_500: application.updates({ bargeIn: 'immediate' }),
        2_000: user.interim('stop'),
      },
    });
    expect(timeline(events, 'bargeIn.ignored', 'bargeIn.confirmed')).toEqual([
      '1000 bargeIn.ignored disabled: stop that please',
      '2000 bargeIn.confirmed 0',
    ]);
  });

  it('of barge-in leaves a suspicion to the rules by which it began', () => {
    const { events } = voiceTest({
      llm: { answer: () => longAnswer },
      bargeIn: { resumeAfterMs: 500 },
      steps: {
        0: user.final('count'),
        1_000: user.starts,
        1_100: application.updates({ bargeIn: { resumeAfterMs: 5_000 } }),
        1_150: user.falls,
      },
    });
    expect(timeline(events, 'bargeIn.resumed')).toEqual(['1650 bargeIn.resumed']);
  });

  it('of turn-taking counts from the next turn: one that is open ends as it began', () => {
    const { events } = voiceTest({
      steps: {
        0: user.interim('hel'),
        50: application.updates({ turnTaking: { strategy: 'manual' } }),
        100: user.final('hello'),
        5_000: user.final('nobody pressed'),
        6_000: application.does('begin'),
        6_100: user.final('pressed'),
        6_150: user.interim('pressed'),
        6_200: application.does('commit'),
        6_300: user.final('pressed again'),
      },
    });
    expect(timeline(events, 'turn.committed')).toEqual([
      '100 turn.committed hello',
      '6300 turn.committed pressed pressed again',
    ]);
  });

  it('of turn-taking leaves a turn that push-to-talk holds open to its commit', () => {
    const { events } = voiceTest({
      turnTaking: { strategy: 'manual' },
      steps: {
        0: application.does('begin'),
        100: user.final('held'),
        200: application.updates({ turnTaking: undefined }),
        250: user.interim('op'),
        300: application.does('commit'),
        400: user.final('open'),
        5_000: user.final('free again'),
      },
    });
    expect(timeline(events, 'turn.committed')).toEqual([
      '400 turn.committed held open',
      '5000 turn.committed free again',
    ]);
  });

  it('of the locale counts from the next sentence on', () => {
    const text = 'Wir treffen uns alle dort am 12. Mai um acht Uhr in der Frühe.';
    const split = (locale: string): readonly string[] =>
      voiceTest({ llm: { answer: () => text }, locale, steps: { 0: user.final('go') } }).tts.pieces;
    const { tts } = voiceTest({
      llm: { answer: () => text },
      locale: 'en',
      steps: { 0: user.final('go'), 20_000: application.updates({ locale: 'de' }), 20_001: user.final('go') },
    });
    expect(tts.pieces).toEqual([...split('en'), ...split('de')]);
    expect(split('en')).not.toEqual(split('de'));
  });

  it('of the time-outs counts from the next wait, and undefined restores a default', () => {
    const { events } = voiceTest({
      steps: {
        0: application.updates({ timeouts: { idleMs: 2_000 } }),
        1: user.falls,
        10_000: application.updates({ timeouts: undefined }),
        10_001: user.falls,
      },
    });
    expect(ofType(events, 'user.idle').map(({ at, idleMs }) => [at, idleMs])).toEqual([
      [2_001, 2_000],
      [25_001, 15_000],
    ]);
  });
});
