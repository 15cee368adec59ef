/**
 * A call's sound and its events come by two ways, at two speeds: the fold puts them back into the order of the socket, in
 * which a reply is over only once it has been heard.
 */
import { int16Bytes } from '../../../lib/audio/samples.ts';
import { decodeBase64 } from '../../../lib/core/base64.ts';
import {
  newCall,
  receiveCall,
  sendOverCall,
  type CallInput,
  type CallState,
} from '../../../lib/providers/agent/theta-call.ts';

type Json = Record<string, unknown>;

/** Frames of 20 ms: a number is the level of the samples, a second one how many frames there are. */
const frames = (level: number, count = 1): Uint8Array<ArrayBuffer>[] =>
  Array.from({ length: count }, () => int16Bytes(new Int16Array(480).fill(level)));
const sound = (count = 1, level = 5000) => frames(level, count);
const quiet = (ms: number) => frames(20, ms / 20);

const part = (id: string, item: string, type = 'audio'): Json => ({
  ...{ type: 'response.content_part.added', response_id: id, item_id: item, part: { type } },
});
const created = (id: string): Json => ({ type: 'response.created', response: { id } });
const token = (id: string): Json => ({ type: 'response.output_audio_transcript.delta', response_id: id, delta: 'Hi' });
const said = (id: string, item: string): Json => ({
  ...{ type: 'response.output_item.done', response_id: id, item: { id: item, type: 'message' } },
});
const call = { type: 'function_call', name: 'get_time' };
const called = (id: string): Json => ({ type: 'response.output_item.done', response_id: id, item: call });
const done = (id: string, more: Json = {}): Json => ({
  type: 'response.done',
  response: { id, status: 'completed', ...more },
});
const buffer = (what: 'started' | 'stopped' | 'cleared', id: string): Json => ({
  ...{ type: `output_audio_buffer.${what}`, response_id: id },
});
/** A response whose generation is over before any of it is heard. */
const generated = (id: string, item: string): Json[] => [
  created(id),
  part(id, item),
  token(id),
  said(id, item),
  done(id),
];

/** What the agent gets: messages by type and response, audio by item and number of frames. */
class Call {
  state: CallState = newCall;
  readonly #told: string[] = [];

  take(...inputs: (Json | CallInput)[]): void {
    for (const input of inputs) {
      const isRaw = typeof input === 'string' || input instanceof Uint8Array;
      const [next, ...messages] = receiveCall(this.state, isRaw ? input : JSON.stringify(input));
      this.state = next;
      for (const text of messages) this.#tell(JSON.parse(text) as Json);
    }
  }

  /** Since the last look. */
  told(): string[] {
    return this.#told.splice(0);
  }

  #tell({ type, response_id: id, response, ...message }: Json): void {
    const name = String(type).replace(/^response\.|output_audio_/g, '');
    const of = (id ?? (response as Json | undefined)?.['id'] ?? '') as string;
    if (type !== 'response.output_audio.delta') {
      this.#told.push(`${name} ${of}`.trim());
      return;
    }
    const { length = 0 } = decodeBase64(String(message['delta'])) ?? {};
    const [, count = '0'] = /(\d+)$/.exec(this.#told.at(-1) ?? '') ?? [];
    const about = `audio of ${String(message['item_id'])} in ${of}: `;
    if (this.#told.at(-1)?.startsWith(about)) this.#told.pop();
    else return void this.#told.push(`${about}${length / 960}`);
    this.#told.push(`${about}${Number(count) + length / 960}`);
  }
}

describe('the call of ThetaAgent', () => {
  it('holds back what ends a reply until it has sounded, though the service generated it long ago', () => {
    const call = new Call();
    call.take(...generated('r1', 'a1'), buffer('started', 'r1'), ...sound(50));
    expect(call.told()).toEqual([
      'created r1',
      'content_part.added r1',
      'transcript.delta r1',
      'audio of a1 in r1: 50',
    ]);
    // A pause in it is no part of the silence after it.
    call.take(...quiet(280), buffer('stopped', 'r1'), ...quiet(280));
    call.take(...sound(5), ...quiet(280));
    expect(call.told()).toEqual(['audio of a1 in r1: 47']);
    call.take(...quiet(20));
    expect(call.told()).toEqual(['audio of a1 in r1: 1', 'output_item.done r1', 'done r1']);
    call.take(...sound(), ...quiet(400));
    expect([call.told(), call.state.replies, call.state.held]).toEqual([[], [], []]);
  });

  it('counts a reply from its first sound: not the time that it took to come', () => {
    const call = new Call();
    call.take(
      created('r1'),
      part('r1', 'a1'),
      buffer('started', 'r1'),
      ...quiet(400),
      ...sound(2),
      ...quiet(100),
      ...sound(1),
    );
    expect(call.told().at(-1)).toBe('audio of a1 in r1: 8');
  });

  it('loses no sound that comes before the word of it, and takes no older one', () => {
    const call = new Call();
    call.take(
      ...sound(3),
      ...quiet(200),
      created('r1'),
      part('r1', 'a1'),
      ...quiet(60),
      ...sound(4),
      buffer('started', 'r1'),
    );
    expect(call.told().at(-1)).toBe('audio of a1 in r1: 4');
    call.take(...sound(1), buffer('stopped', 'r1'), ...quiet(300));
    expect(call.told()).toEqual(['audio of a1 in r1: 16']);
    call.take(buffer('started', 'r2'), ...sound(1));
    expect(call.told()).toEqual(['audio of  in r2: 1']);
  });

  it('ends a reply with its interruption, and leaves what is still on its way unheard', () => {
    const call = new Call();
    call.take(...generated('r1', 'a1'), buffer('started', 'r1'), ...sound(10));
    call.told();
    call.take({ type: 'input_audio_buffer.speech_started' }, buffer('cleared', 'r1'), ...sound(5));
    expect(call.told()).toEqual(['input_audio_buffer.speech_started', 'output_item.done r1', 'done r1']);
    call.take(...quiet(200), created('r2'), part('r2', 'a2'), buffer('started', 'r2'), ...sound(1));
    expect(call.told()).toEqual(['created r2', 'content_part.added r2', 'audio of a2 in r2: 1']);
  });

  it('hears no remains of what was cleared in a reply that follows at once, and waits for silence no longer than they last', () => {
    const call = new Call();
    call.take(...generated('r1', 'a1'), buffer('started', 'r1'), ...sound(10), buffer('cleared', 'r1'));
    call.take(created('r2'), part('r2', 'a2'), ...sound(1), buffer('started', 'r2'));
    call.told();
    call.take(...sound(5), ...quiet(180), ...sound(5), ...quiet(200), ...sound(1));
    expect(call.told()).toEqual(['audio of a2 in r2: 1']);
    call.take(...sound(1), buffer('cleared', 'r2'), created('r3'), part('r3', 'a3'), buffer('started', 'r3'));
    call.told();
    call.take(...sound(50));
    expect(call.told()).toEqual([]);
    call.take(...sound(1));
    expect(call.told()).toEqual(['audio of a3 in r3: 1']);
  });

  it('takes a pause for the end of a reply only when the last of it has had as long a way as the first', () => {
    const call = new Call();
    call.take(...generated('r1', 'a1'), buffer('started', 'r1'), ...quiet(400), ...sound(10), buffer('stopped', 'r1'));
    call.told();
    call.take(...quiet(680), ...sound(1));
    expect(call.told()).toEqual(['audio of a1 in r1: 35']);
    call.take(...quiet(300));
    expect(call.told()).toEqual(['audio of a1 in r1: 15', 'output_item.done r1', 'done r1']);
    // A reply at once has a way, too.
    call.take(...generated('r2', 'a2'), buffer('started', 'r2'), ...sound(1), buffer('cleared', 'r2'));
    call.take(...generated('r3', 'a3'), buffer('started', 'r3'), ...quiet(200), ...sound(1), buffer('stopped', 'r3'));
    call.told();
    call.take(...quiet(480));
    expect(call.told()).toEqual(['audio of a3 in r3: 24']);
    call.take(...quiet(20));
    expect(call.told()).toEqual(['audio of a3 in r3: 1', 'output_item.done r3', 'done r3']);
  });

  it('takes what was cleared for no beginning of the next reply', () => {
    const call = new Call();
    call.take(created('r1'), part('r1', 'a1'), ...sound(3), buffer('cleared', 'r1'));
    call.take(created('r2'), part('r2', 'a2'), buffer('started', 'r2'), ...sound(1));
    expect(call.told().at(-1)).toBe('audio of a2 in r2: 1');
  });

  it('lets calls run while what was said before them still sounds, and their results follow it', () => {
    const call = new Call();
    call.take(created('r1'), part('r1', 'a1'), said('r1', 'a1'), called('r1'));
    call.take(
      done('r1', { output: [{ type: 'message' }, { type: 'function_call' }] }),
      buffer('started', 'r1'),
      ...sound(10),
    );
    call.take(...generated('r2', 'a2'));
    expect(call.told()).toEqual([
      ...['created r1', 'content_part.added r1', 'output_item.done r1', 'done r1', 'audio of a1 in r1: 10'],
      ...['created r2', 'content_part.added r2', 'transcript.delta r2'],
    ]);
    call.take(...sound(1), buffer('stopped', 'r1'), buffer('started', 'r2'), ...sound(2));
    expect(call.told()).toEqual(['audio of a1 in r1: 1', 'output_item.done r1', 'audio of a2 in r2: 2']);
    call.take(buffer('stopped', 'r2'), ...quiet(300));
    expect(call.told()).toEqual(['audio of a2 in r2: 15', 'output_item.done r2', 'done r2']);
  });

  it('tells what was said before calls once that has sounded, not because the answer to them is ready', () => {
    const call = new Call();
    call.take(
      created('r1'),
      part('r1', 'a1'),
      said('r1', 'a1'),
      called('r1'),
      done('r1', { output: [{ type: 'function_call' }] }),
    );
    call.take(...generated('r2', 'a2'), buffer('started', 'r1'), ...sound(1));
    call.told();
    call.take(...quiet(3000), ...sound(1));
    expect(call.told()).toEqual(['audio of a1 in r1: 151']);
    call.take(buffer('stopped', 'r1'), ...quiet(300));
    expect(call.told()).toEqual(['audio of a1 in r1: 15', 'output_item.done r1']);
  });

  it('takes the sound for that of the reply which is played, and of a reply with several parts for the first', () => {
    const call = new Call();
    call.take(part('r1', 'a1'), part('r2', 'a2'), buffer('started', 'r2'), ...sound(1), part('r2', 'a3'), ...sound(1));
    expect(call.told().slice(2)).toEqual(['audio of a2 in r2: 1', 'content_part.added r2', 'audio of a2 in r2: 1']);
  });

  it('passes on at once what does not sound', () => {
    const call = new Call();
    call.take(created('r1'), called('r1'), done('r1'));
    call.take(created('r2'), part('r2', 'a2', 'text'), said('r2', 'a2'), done('r2'));
    expect(call.told()).toEqual([
      ...['created r1', 'output_item.done r1', 'done r1'],
      ...['created r2', 'content_part.added r2', 'output_item.done r2', 'done r2'],
    ]);
    call.take(created('r3'), part('r3', 'a3'), done('r3', { status: 'cancelled' }));
    expect(call.told()).toEqual(['created r3', 'content_part.added r3', 'done r3']);
    expect(call.state.replies).toEqual([]);
  });

  it('waits for a reply that came to be played late, and for one whose end is never told, but not for ever', () => {
    const call = new Call();
    call.take(
      ...quiet(5000),
      created('r1'),
      part('r1', 'a1'),
      ...quiet(5000),
      said('r1', 'a1'),
      done('r1'),
      ...quiet(2980),
    );
    expect(call.told()).toEqual(['created r1', 'content_part.added r1']);
    call.take(...quiet(20));
    expect(call.told()).toEqual(['output_item.done r1', 'done r1']);
    call.take(...generated('r2', 'a2'), buffer('started', 'r2'), ...sound(1), ...quiet(3000));
    expect(call.told().slice(3)).toEqual(['audio of a2 in r2: 151', 'output_item.done r2', 'done r2']);
    call.take(...generated('r3', 'a3'), buffer('started', 'r3'), buffer('stopped', 'r3'), ...quiet(980), ...sound(1));
    expect(call.told().at(-1)).toBe('audio of a3 in r3: 1');
  });

  it('ends a reply when the service begins the next', () => {
    const call = new Call();
    call.take(...generated('r1', 'a1'), buffer('started', 'r1'), ...sound(1));
    call.told();
    call.take(created('r2'));
    expect(call.told()).toEqual(['output_item.done r1', 'done r1', 'created r2']);
  });

  it('knows a reply that is played unannounced, and ignores the end of one that it does not know', () => {
    const call = new Call();
    call.take(buffer('stopped', 'r0'), buffer('cleared', 'r0'), buffer('started', 'r1'), ...sound(2));
    expect(call.told()).toEqual(['audio of  in r1: 2']);
  });

  it('is bounded: replies that never sound, and messages that never end, are passed on', () => {
    const call = new Call();
    for (let n = 1; n <= 9; n++) call.take(part(`r${n}`, 'a'), said(`r${n}`, 'a'));
    expect(call.told()).toEqual([
      ...Array.from({ length: 8 }, (_, n) => `content_part.added r${n + 1}`),
      ...['output_item.done r1', 'content_part.added r9'],
    ]);
    for (let n = 0; n < 300; n++) call.take(said('r9', 'a'));
    expect(call.state.held.length).toBeLessThan(257);
    expect(call.state.replies.length).toBeLessThan(9);
  });

  it('passes on what it does not understand', () => {
    const call = new Call();
    const garbage = [
      '',
      'no JSON',
      '[]',
      '{"type":7}',
      '{"type":"response.done"}',
      '{"type":"response.content_part.added"}',
    ];
    expect(garbage.map((each) => receiveCall(call.state, each)[1])).toEqual(garbage);
  });

  it('silences what is cancelled, also when it was generated long ago', () => {
    const call = new Call();
    const cancel = { type: 'response.cancel', response_id: 'r1' };
    expect(sendOverCall(call.state, cancel)).toEqual([cancel]);
    call.take(...generated('r1', 'a1'), buffer('started', 'r1'), ...sound(1));
    expect(sendOverCall(call.state, cancel)).toEqual([cancel, { type: 'output_audio_buffer.clear' }]);
  });

  it('corrects what was heard, unless the service knows better', () => {
    const call = new Call();
    const truncate = { type: 'conversation.item.truncate', item_id: 'a1', content_index: 0, audio_end_ms: 700 };
    const [sent] = sendOverCall(call.state, truncate);
    expect(sent).toEqual({ ...truncate, event_id: 'truncation' });
    const error = (event_id: unknown): Json => ({ type: 'error', error: { code: 'invalid_value', event_id } });
    call.take(error(sent?.['event_id']), error('settings'));
    expect(call.told()).toEqual(['error']);
    const other = { type: 'response.create' };
    expect(sendOverCall(call.state, other)).toEqual([other]);
  });
});
