import { chatAnswer, type ChatAnswer } from '../../../lib/providers/llm/chat-answer.ts';
import { emptyMessage, readMessage } from '../../../lib/providers/llm/message-answer.ts';
import type { AnswerContext, ModelEffect, ModelStep } from '../../../lib/providers/llm/model-wire.ts';
import type { ServerSentEvent } from '../../../lib/transport/sse.ts';

const context: AnswerContext = { toolNames: ['get_weather'], newCallId: () => 'made' };
const event = (json: unknown, name = 'message'): ServerSentEvent => ({
  ...{ event: name, data: typeof json === 'string' ? json : JSON.stringify(json) },
});

/** What comes of each event, the state passed from one to the next and never changed. */
function effectsOf<S>(
  start: S,
  read: (state: S, event: ServerSentEvent) => ModelStep<S>,
  events: readonly ServerSentEvent[],
): { readonly effects: readonly (readonly ModelEffect[])[]; readonly state: S } {
  const effects: ModelEffect[][] = [];
  const state = events.reduce((before, each) => {
    const kept = structuredClone(before);
    const [after, ...more] = read(before, each);
    expect(before).toEqual(kept);
    effects.push(more);
    return after;
  }, start);
  return { effects, state };
}

const token = (text: string): ModelEffect => ({ type: 'token', text });
const progress: ModelEffect = { type: 'progress' };
const chunk = (delta: unknown, finish_reason: unknown = null, more: object = {}): ServerSentEvent =>
  event({ choices: [{ index: 0, delta, finish_reason }], ...more });
const part = (rest: object): unknown => ({ tool_calls: [{ index: 0, ...rest }] });

describe('chatAnswer: what comes of each event', () => {
  const rows: readonly [string, readonly ServerSentEvent[], readonly (readonly ModelEffect[])[]][] = [
    ['a token', [chunk({ content: 'Hi' }), chunk({ content: ' there' })], [[token('Hi')], [token(' there')]]],
    [
      'no progress, of an empty delta and of one of another choice',
      [chunk({ content: '' }), event({ choices: [{ index: 1, delta: { content: 'x' } }] })],
      [[], []],
    ],
    [
      'progress, of what is not spoken',
      [chunk({ reasoning: 'Hm' }), chunk({ content: '<think>Hm' }), chunk({}, 'stop')],
      [[progress], [progress], [progress]],
    ],
    [
      'a refusal, as text',
      [chunk({ refusal: 'No.' }), event('[DONE]')],
      [[token('No.')], [{ type: 'done', finishReason: 'filtered' }]],
    ],
    ['what is skipped', [event('{'), event('7')], [[{ type: 'unreadable' }], [{ type: 'unreadable' }]]],
    [
      'a failure, wherever a service puts it',
      [
        event({ error: { code: 529 } }),
        event('{"message":"x"}', 'error'),
        event([{ error: { code: 5 } }]),
        chunk({}, 'error'),
      ],
      [
        [{ type: 'refused', text: '{"error":{"code":529}}', status: 529 }],
        [{ type: 'refused', text: '{"message":"x"}' }],
        [{ type: 'refused', text: '{"error":{"code":5}}', status: 5 }],
        [{ type: 'refused', text: '{"error":{"code":"error"}}' }],
      ],
    ],
    [
      'a call, once the answer has ended',
      [
        chunk(part({ id: 'a', function: { name: 'get_weather', arguments: '{"city":' } })),
        chunk(part({ function: { arguments: '"Paris"}' } }), 'tool_calls', { usage: { total_tokens: 9 } }),
        event('[DONE]'),
      ],
      [
        [progress],
        [progress],
        [
          { type: 'tool-call', id: 'a', name: 'get_weather', args: { city: 'Paris' }, argsText: '{"city":"Paris"}' },
          { type: 'done', finishReason: 'tool-calls', usage: { totalTokens: 9 } },
        ],
      ],
    ],
  ];
  const { start, read, end } = chatAnswer(true);
  for (const [what, events, effects] of rows) {
    it(what, () => {
      expect(effectsOf<ChatAnswer>(start, (state, each) => read(state, each, context), events).effects).toEqual(
        effects,
      );
    });
  }

  it('ends without [DONE] when a reason was given, and breaks off otherwise', () => {
    const after = (...events: ServerSentEvent[]): ChatAnswer =>
      effectsOf<ChatAnswer>(start, (state, each) => read(state, each, context), events).state;
    expect(end(after(chunk({ content: 'Hi' })), context)).toBeUndefined();
    expect(end(after(chunk({ content: 'Hi' }), chunk({}, 'length')), context)?.slice(1)).toEqual([
      { type: 'done', finishReason: 'length' },
    ]);
  });
});

describe('readMessage: what comes of each event', () => {
  const block = (index: number, content_block: object): ServerSentEvent =>
    event({ type: 'content_block_start', index, content_block });
  const delta = (index: number, rest: object): ServerSentEvent =>
    event({ type: 'content_block_delta', index, delta: rest });
  const stop = event({ type: 'message_stop' });
  const rows: readonly [string, readonly ServerSentEvent[], readonly (readonly ModelEffect[])[]][] = [
    [
      'a token',
      [block(0, { type: 'text', text: '' }), delta(0, { text: 'Hi' }), delta(7, { text: '!' })],
      [[progress], [token('Hi')], [token('!')]],
    ],
    [
      'no progress, of a ping and of what the vendor adds',
      [event({ type: 'ping' }), event({ type: 'constructor' })],
      [[], []],
    ],
    ['what is skipped', [event('[]')], [[{ type: 'unreadable' }]]],
    ['a failure', [event({ type: 'error', error: {} })], [[{ type: 'refused', text: '{"type":"error","error":{}}' }]]],
    [
      'a call, once the answer has ended, with the thoughts before it',
      [
        block(0, { type: 'thinking', thinking: '', signature: '' }),
        delta(0, { thinking: 'Hm' }),
        delta(0, { signature: 'sig' }),
        block(1, { type: 'tool_use', id: 'a', name: 'get_weather', input: {} }),
        delta(1, { partial_json: '{"city":"Paris"}' }),
        event({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } }),
        stop,
      ],
      [
        ...[[progress], [progress], [progress], [progress], [progress], [progress]],
        [
          {
            ...{
              type: 'tool-call',
              id: 'a',
              name: 'get_weather',
              args: { city: 'Paris' },
              argsText: '{"city":"Paris"}',
            },
            providerExtras: { thinking: [{ type: 'thinking', thinking: 'Hm', signature: 'sig' }] },
          },
          { type: 'done', finishReason: 'tool-calls', usage: { outputTokens: 9 } },
        ],
      ],
    ],
  ];
  for (const [what, events, effects] of rows) {
    it(what, () => {
      expect(effectsOf(emptyMessage, readMessage, events).effects).toEqual(effects);
    });
  }
});
