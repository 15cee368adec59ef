/**
 * The parsers of what peers send, each wrapped in a function that takes any bytes and throws if the parser breaks its
 * promises: it throws only VoiceErrors, returns well-formed values, and does not care how the bytes are split.
 */
import { from, lastValueFrom, of, type Observable, toArray } from 'rxjs';
import { joinBytes } from '../../lib/audio/concat.ts';
import { isWav, parseWavHeader } from '../../lib/audio/wav-header.ts';
import { WavReader } from '../../lib/audio/wav-reader.ts';
import { decodeBase64, encodeBase64 } from '../../lib/core/base64.ts';
import { VoiceError } from '../../lib/core/errors.ts';
import { parseJsonObject } from '../../lib/core/parse-json.ts';
import { decodeHex, encodeHex } from '../../lib/core/hex.ts';
import { redact } from '../../lib/core/redact.ts';
import { chatAnswer } from '../../lib/providers/llm/chat-answer.ts';
import { emptyMessage, readMessage } from '../../lib/providers/llm/message-answer.ts';
import { callsInText, parseArgs } from '../../lib/providers/llm/tool-calls.ts';
import { verifyMeetingInputDWebhook } from '../../lib/providers/platform/meeting-input-d-webhook.ts';
import { verifyPhoneSocketBSignature } from '../../lib/providers/platform/phone-socket-b-signature.ts';
import { verifyPhoneStreamASignature } from '../../lib/providers/platform/phone-stream-a-signature.ts';
import { readUsp } from '../../lib/providers/stt/kappa-stt-messages.ts';
import { marksIn } from '../../lib/providers/tts/words/speech-marks.ts';
import { crc32, decodeEventStream, encodeEventStream } from '../../lib/transport/aws-event-stream.ts';
import { jsonObjects } from '../../lib/transport/json-objects.ts';
import { statusError } from '../../lib/transport/http-error.ts';
import { sse } from '../../lib/transport/sse.ts';
import { TestClock } from '../transport/test-clock.ts';
import { callTargets } from './call-targets.ts';
import { assert, assertSame, cut, textOf, type Bytes, type Target } from './promises.ts';
import { pageTargets } from './page-targets.ts';
import { signedTargets } from './signed-targets.ts';

/** What a stream gives, or the code of the VoiceError that it fails with. */
async function outcomeOf<T>(values$: Observable<T>): Promise<readonly T[] | string> {
  try {
    return await lastValueFrom(values$.pipe(toArray()));
  } catch (error) {
    if (VoiceError.is(error)) return error.code;
    throw error;
  }
}

/** A frame of an event stream with right lengths and checksums: the first byte tells how long its headers are. */
function framed(bytes: Bytes): Bytes {
  const body = bytes.subarray(1);
  const frame = new Uint8Array(16 + body.length);
  const view = new DataView(frame.buffer);
  view.setUint32(0, frame.length);
  view.setUint32(4, Math.min(bytes[0] ?? 0, body.length));
  view.setUint32(8, crc32(frame.subarray(0, 8)));
  frame.set(body, 12);
  view.setUint32(12 + body.length, crc32(frame.subarray(0, 12 + body.length)));
  return frame;
}

const provider = 'Fuzzed';
const json = { provider, status: 200, headers: { 'content-type': 'application/json' } };
const context = { toolNames: ['lookup'], newCallId: () => 'call_1' };
const secrets = { signatureSecret: 'secret', authToken: 'secret', secretToken: 'secret' };

export const targets: Readonly<Record<string, Target>> = {
  ...callTargets,
  ...pageTargets,
  ...signedTargets,
  wav: (bytes) => {
    const read = (pieces: readonly Bytes[]): unknown[] => {
      const reader = new WavReader();
      const samples = pieces.map((piece) => reader.push(piece));
      return [encodeHex(joinBytes([...samples, reader.flush()])), reader.kind, reader.metadata, reader.problem];
    };
    assertSame(read(cut(bytes)), read([bytes]), 'a WAV file is read alike in any pieces');
    if (isWav(bytes) === false) assert(parseWavHeader(bytes)?.kind === 'raw', 'what is no WAV file is raw');
    const header = parseWavHeader(bytes);
    if (header?.kind !== 'wav') return;
    const { sampleRate, channels } = header.metadata;
    assert(sampleRate > 0 && channels > 0 && header.dataOffset <= bytes.length, 'a header makes sense');
  },

  eventStream: (bytes) => {
    try {
      const message = decodeEventStream(framed(bytes));
      const again = decodeEventStream(encodeEventStream(message));
      assertSame([...again.headers].map(String), [...message.headers].map(String), 'headers survive');
      assertSame(encodeHex(again.payload), encodeHex(message.payload), 'a payload survives');
    } catch (error) {
      if (!VoiceError.is(error)) throw error;
    }
  },

  serverSentEvents: async (bytes) => {
    const read = (pieces: readonly Bytes[]): Promise<unknown> =>
      outcomeOf(from(pieces).pipe(sse({ provider, maxLength: 256 })));
    const whole = await read(bytes.length > 0 ? [bytes] : []);
    // The limit applies to what is kept between two pieces.
    if (bytes.length <= 256) assertSame(await read(cut(bytes)), whole, 'events are read alike in any pieces');
    else await read(cut(bytes));
  },

  jsonObjects: async (bytes) => {
    const read = (pieces: readonly Bytes[]): Promise<unknown> =>
      outcomeOf(of({ ...json, body$: from(pieces) }).pipe(jsonObjects()));
    assertSame(await read(cut(bytes)), await read([bytes]), 'objects are read alike in any pieces');
    assert(!('polluted' in {}), 'no prototype is changed');
  },

  json: (bytes) => {
    const text = textOf(bytes);
    const object = parseJsonObject(text);
    const isText = !text.includes('\uFFFD');
    if (isText) assertSame(parseJsonObject(bytes), object, 'text and bytes are read alike');
    if (object) assert(!Object.hasOwn(object, '__proto__'), 'no object has a key __proto__');
    const { argsText } = parseArgs(text);
    callsInText(text, ['lookup'], () => 'call_1');
    assert(typeof argsText === 'string' && !('polluted' in {}), 'arguments change no prototype');
  },

  chatAnswer: (bytes) => {
    const { start, read, end } = chatAnswer(true);
    let state = start;
    for (const data of textOf(bytes).split('\n')) {
      const [next, ...effects] = read(state, { event: 'message', data }, context);
      assert(
        effects.every((effect) => effect.type !== 'token' || effect.text !== ''),
        'no token is empty',
      );
      state = next;
    }
    end(state, context);
  },

  messageAnswer: (bytes) => {
    let state = emptyMessage;
    for (const data of textOf(bytes).split('\n')) {
      const [next, ...effects] = readMessage(state, { event: 'message', data });
      assert(
        effects.every((effect) => effect.type !== 'token' || effect.text !== ''),
        'no token is empty',
      );
      state = next;
    }
  },

  usp: (bytes) => {
    const message = readUsp(textOf(bytes));
    assert(message === undefined || message.path === message.path.toLowerCase(), 'a path is in lower case');
  },

  speechMarks: (bytes) => {
    for (const { text, startMs } of marksIn(textOf(bytes))) {
      assert(text !== '' && Number.isFinite(startMs), 'a mark has a word and a time');
    }
  },

  encodings: (bytes) => {
    const text = textOf(bytes);
    const decoded = decodeBase64(text);
    if (decoded) assertSame(encodeHex(decodeBase64(encodeBase64(decoded)) ?? decoded), encodeHex(decoded), 'base64');
    const hex = decodeHex(text);
    if (hex) assertSame(encodeHex(hex), text.toLowerCase(), 'hexadecimal digits are read as they are');
    assert(decodeBase64(encodeBase64(bytes))?.length === bytes.length, 'any bytes have a base64 form');
  },

  redaction: (bytes) => {
    const secret = 'a-secret-of-ours';
    const shown = redact(`${textOf(bytes)} ${secret}`, [secret]);
    assert(!shown.includes(secret) && !/[\n\r]/.test(shown), 'a line shows no secret');
  },

  /** Lines of headers, an empty one, and the body of a response that is an error. */
  refusals: async (bytes) => {
    const secret = 'a-secret-of-ours';
    const text = textOf(bytes);
    const [head = '', ...rest] = text.split('\n\n');
    const [status = '', ...fields] = head.split('\n');
    const headers = Object.fromEntries(
      fields.map((field): [string, string] => {
        const [name = '', value = ''] = field.split(': ', 2);
        return [name, value];
      }),
    );
    const body = new TextEncoder().encode(`${rest.join('\n\n')} ${secret}`);
    const read = async (pieces: readonly Bytes[]): Promise<unknown> => {
      const response = { provider, status: Number(status) || 500, headers, body$: from(pieces) };
      const redacted = (said: string): string => redact(said, [secret]);
      const context = { url: new URL('https://a.example/'), redact: redacted, scheduler: new TestClock(1e12) };
      const error: unknown = await lastValueFrom(statusError(response, context)).catch((each: unknown) => each);
      assert(VoiceError.is(error), 'a refusal is a VoiceError');
      const { code, message, status: told, retryAfterMs, recoverable, cause } = error;
      const said = `${message}${cause instanceof Error ? cause.message : ''}`;
      assert(!said.includes(secret) && !said.includes('\n'), 'an error shows no secret');
      assert(retryAfterMs === undefined || (retryAfterMs > 0 && Number.isFinite(retryAfterMs)), 'a wait is a time');
      return [code, said, told, retryAfterMs, recoverable];
    };
    assertSame(await read(cut(body)), await read([body]), 'an error is read alike in any pieces');
  },

  signatures: async (bytes) => {
    const [signature = '', timestamp = '', ...rest] = textOf(bytes).split('\n');
    const body = rest.join('\n');
    const genuine = await Promise.all([
      verifyPhoneStreamASignature({ ...secrets, url: body || 'wss://a.example/', signature }),
      verifyPhoneSocketBSignature({ ...secrets, authorization: signature, body }),
      verifyMeetingInputDWebhook({ ...secrets, signature, timestamp, body }),
    ]);
    assert(!genuine.includes(true), 'nobody guesses a signature');
  },
};
