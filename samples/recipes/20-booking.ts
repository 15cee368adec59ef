/** A restaurant's telephone: a table is booked with a tool, a read-back and a key, and who asks for it gets a person. */
import { firstValueFrom } from 'rxjs';
import { collectDigits, defineTool, PhoneStreamACalls, Pipeline, VoiceError, type PhoneStreamA } from 'rxvoice';
import { PhoneRest } from '../sandbox/phone-rest.ts';
import type { Kit } from './kit.ts';

interface Booking {
  readonly people: number;
  readonly time: string;
}

/** What the restaurant's own system would keep. */
class Book {
  readonly #bookings: Booking[] = [];

  add(booking: Booking): string {
    return `number ${this.#bookings.push(booking)}`;
  }
}

const instructions = [
  'You answer the telephone of a restaurant, in short sentences.',
  'Book tables with book_table, once you know for how many and when. It asks the caller to confirm: do not ask yourself.',
  'Connect whoever asks for a person, with transfer_to_person.',
  // The model of the sandbox does as it is told here; a real one needs no such line.
  `sandbox: ${JSON.stringify({
    rules: [{ when: 'table', call: [{ name: 'book_table', args: { people: 4, time: 'eight' } }] }],
  })}`,
].join('\n');

/** Reads back what the caller wants, and books it if the caller presses 1. */
function bookTable(phone: PhoneStreamA, book: Book, print: (line: string) => void): ReturnType<typeof defineTool> {
  return defineTool<Booking>({
    name: 'book_table',
    description: 'Books a table for this evening.',
    parameters: {
      type: 'object',
      properties: { people: { type: 'integer', minimum: 1, maximum: 12 }, time: { type: 'string' } },
      required: ['people', 'time'],
    },
    // The time to hear it, and to find the keys.
    timeoutMs: 60_000,
    execute: async (booking, { say }) => {
      const key = firstValueFrom(collectDigits(phone, { max: 1, firstDigitMs: 30_000 }));
      say(`A table for ${booking.people} at ${booking.time}. Press 1 to confirm. `);
      const { digits } = await key;
      print(`key: ${digits || 'none'}`);
      return digits === '1' ? `booked, ${book.add(booking)}` : 'not confirmed: ask what should be different';
    },
  });
}

export async function recipe(kit: Kit): Promise<void> {
  await using platform = await PhoneRest.open();
  const { accountSid, authToken, endpoint } = platform;
  const calls = new PhoneStreamACalls({ accountSid, authToken, endpoint });
  const { phone, caller } = await kit.ring();
  platform.receive(caller.callSid, 'in-progress');

  const handOver = async (): Promise<void> => {
    phone.tellCallState({ state: 'transferring' });
    await calls.redirect(caller.callSid, [{ dial: '+442071838750', from: '+447700900000' }]);
    await caller.hangUp();
  };
  const transfer = defineTool({
    name: 'transfer_to_person',
    description: 'Connects the caller with a person.',
    execute: () => {
      // The caller hears the answer to this first: the transfer ends the agent's part of the call.
      pipeline.once('turn.ended', () => {
        handOver().catch((error: unknown) => kit.print(`not transferred: ${VoiceError.from(error).message}`));
      });
      return 'connecting now';
    },
  });
  await using pipeline: Pipeline = new Pipeline({
    providers: [phone, kit.stt(), kit.llm(), kit.tts()],
    systemPrompt: instructions,
    tools: [bookTable(phone, new Book(), kit.print), transfer],
    // Nobody is asked more than three times.
    answer: { maxToolCalls: 3 },
  });
  pipeline.on('call.state', ({ state }) => kit.print(`call: ${state}`));
  await pipeline.start();

  caller.say('A table for four at eight');
  await kit.next(pipeline, 'speech.started');
  await caller.until(({ playedMs }) => playedMs > 3_000);
  caller.press('1');
  await kit.next(pipeline, 'turn.ended');
  kit.print(`heard: ${caller.heard().text}`);

  const closed = kit.next(pipeline, 'session.closed');
  caller.say('A person please');
  await closed;
  const twiml = String(platform.calls.get(caller.callSid)?.instructions);
  kit.print(`dialled: ${/<Number>(.*?)<\/Number>/.exec(twiml)?.[1]}`);
}
