import { foldText, type AudioChunk, type AudioMetadata } from 'rxvoice';
import { createTranscoder, int16View } from 'rxvoice/audio';
import { noise } from '../sandbox/modem.ts';
import { story } from '../sandbox/responder.ts';
import { callerFormat } from './caller.ts';
import type { HardCall } from './hard-call.ts';

/** Something that makes a conversation hard, and what is to come of it. */
export interface Trial {
  readonly name: string;
  /** What the caller says in it, in order. */
  readonly lines: readonly string[];
  /** Has it happen; resolves when it is over. `expect` is told what is to hold, and what is wrong if it does not. */
  readonly run: (call: HardCall, since: number, expect: (holds: boolean, fault: string) => void) => Promise<void>;
}

/** How long nobody may answer what is not to be answered. */
const silenceMs = 1_500;
/** A character of the sandbox's voice. */
const characterMs = 80;

const same = (left: string, right: string): boolean => foldText(left) === foldText(right);
/** A text up to the word in which it was cut off. */
const isPrefix = (part: string, whole: string): boolean => foldText(whole).startsWith(foldText(part));

/** The call, in order. The first one needs a connection that has just begun. */
export const trials: readonly Trial[] = [
  {
    name: 'a connection that drops in mid-sentence',
    lines: ['Say the line holds through a drop'],
    run: async (call, since, expect) => {
      const ended = call.next('turn.ended');
      await call.caller.sayNext();
      await ended;
      const committed = call.since(since, 'turn.committed').map(({ text }) => text);
      expect(call.since(since, 'provider.reconnecting').length > 0, 'the connection did not drop');
      expect(committed.length === 1, `${committed.length} turns of one sentence`);
      expect(same(committed[0] ?? '', 'Say the line holds through a drop'), `transcribed "${committed[0] ?? ''}"`);
      expect(same(call.readBack(since), 'the line holds through a drop'), `heard "${call.readBack(since)}"`);
    },
  },
  {
    name: 'a cough, "mm-hmm" and "stop" over a long answer',
    lines: ['Tell me a long story', 'Mm-hmm.', 'Stop.'],
    run: async (call, since, expect) => {
      const telling = call.next('speech.started');
      await call.caller.sayNext();
      await telling;
      await call.wait(2_000);

      const afterCough = call.next('bargeIn.resumed');
      await call.caller.make(noise(400, callerFormat.sampleRate));
      await afterCough;
      expect(call.since(since, 'bargeIn.paused').length === 1, 'the cough paused nothing');
      await call.wait(1_500);

      const nodded = call.next('bargeIn.ignored');
      await call.caller.sayNext();
      const { reason } = await nodded;
      expect(reason === 'backchannel', `"mm-hmm" was ignored as ${reason}`);
      expect(call.since(since, 'bargeIn.confirmed').length === 0, 'a cough or "mm-hmm" cut the story');
      await call.wait(1_500);

      const cut = call.next('turn.ended');
      await call.caller.sayNext();
      await cut;
      await call.wait(silenceMs);
      const [confirmed] = call.since(since, 'bargeIn.confirmed');
      expect(confirmed !== undefined, '"stop" did not cut the story');
      const told = call.readBack(since);
      expect(told.length > 60 && isPrefix(told, story), `what was heard is not the story's beginning: "${told}"`);
      expect(call.since(since, 'llm.started').length === 1, '"stop" was answered');
      const last = call.pipeline.history.messages().at(-1)?.content ?? '';
      expect(isPrefix(last, told), `remembered "${last}"`);
    },
  },
  {
    name: '"yes" over the end of a question',
    lines: ['A table please', 'Yes.'],
    run: async (call, since, expect) => {
      const asking = call.next('speech.started');
      await call.caller.sayNext();
      await asking;
      await call.wait('One is free at nine. Shall I book it?'.length * characterMs - 700);
      const thanked = call.next('turn.ended', ({ turnId }) => turnId !== call.since(since, 'turn.ended')[0]?.turnId);
      const answered = call.next('speech.ended', ({ text }) => same(text, 'The table is yours.'));
      await call.caller.sayNext();
      await Promise.all([thanked, answered]);
      const heard = call.readBack(since);
      expect(same(heard, 'One is free at nine. Shall I book it? The table is yours.'), `heard "${heard}"`);
      expect(call.since(since, 'bargeIn.confirmed').length === 0, '"yes" cut the question');
    },
  },
  {
    name: 'a changed mind, after an answer was prepared',
    lines: ['Book the flight … no do not'],
    run: async (call, since, expect) => {
      const ended = call.next('turn.ended');
      await call.caller.sayNext();
      await ended;
      const [started] = call.since(since, 'preflight.started');
      expect(same(started?.text ?? '', 'Book the flight'), 'no answer was prepared to "Book the flight"');
      expect(call.since(since, 'preflight.discarded').length > 0, 'what was prepared was not dropped');
      expect(same(call.readBack(since), 'Nothing is booked.'), `heard "${call.readBack(since)}"`);
    },
  },
  {
    name: 'a tool interrupted',
    lines: ['Look up the weather', 'Stop.'],
    run: async (call, since, expect) => {
      const running = call.next('tool.call');
      await call.caller.sayNext();
      await running;
      await call.wait(2_000);
      const over = call.next('turn.ended');
      await call.caller.sayNext();
      await over;
      await call.wait(silenceMs);
      expect(call.since(since, 'tool.cancelled').length === 1 && call.calledOff() === 1, 'the tool was not called off');
      expect(call.since(since, 'llm.started').length === 1, 'the model was asked about it');
      expect(same(call.readBack(since), 'One moment.'), `heard "${call.readBack(since)}"`);
    },
  },
  {
    name: "the agent's own echo",
    lines: ['Tell me of the harbour'],
    run: async (call, since, expect) => {
      const telling = call.next('speech.started');
      await call.caller.sayNext();
      await telling;
      await call.wait(2_400);
      const ended = call.next('turn.ended');
      // All since the scene began: the first sample can be older than the event that tells of it.
      await call.caller.make(echoOf(call.heard.filter(({ timestamp = 0 }) => timestamp >= since)));
      await ended;
      await call.wait(silenceMs);
      const told = 'The harbour has seven lamps and two old piers. Ships come in at night.';
      expect(same(call.readBack(since), told), `heard "${call.readBack(since)}"`);
      expect(call.since(since, 'bargeIn.ignored').at(-1)?.reason === 'echo', 'the echo was not heard');
      expect(call.since(since, 'turn.committed').length === 1, 'the agent answered itself');
    },
  },
  {
    name: 'a model that stalls',
    lines: ['Say the other one answers'],
    run: async (call, since, expect) => {
      call.sandbox.setFault('nu-llm', { kind: 'stall', after: 0 });
      const ended = call.next('turn.ended');
      await call.caller.sayNext();
      await ended;
      const switched = call.since(since, 'provider.fallback').map(({ from, to }) => `${from} to ${to}`);
      expect(switched[0] === 'NuLLM to ThetaLLM', `fell back from ${switched.join(', ') || 'nobody'}`);
      expect(same(call.readBack(since), 'the other one answers'), `heard "${call.readBack(since)}"`);
    },
  },
];

/** What was heard as a microphone in the same room hears it: quieter. */
function echoOf(heard: readonly AudioChunk[]): Int16Array<ArrayBuffer> {
  const from: AudioMetadata = { encoding: 'linear16', sampleRate: 24_000, channels: 1, bitDepth: 16 };
  const transcoder = createTranscoder(from, callerFormat);
  const samples = heard.flatMap(({ data }) => Array.from(int16View(transcoder.push(new Uint8Array(data)))));
  return Int16Array.from(samples, (sample) => sample / 3);
}
