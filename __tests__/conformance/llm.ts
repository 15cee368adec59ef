import { inspect } from 'node:util';
import { firstValueFrom, lastValueFrom, toArray, type Observable } from 'rxjs';
import type { VoiceError } from '../../lib/core/errors.ts';
import { silentLogger, type Logger } from '../../lib/core/logger.ts';
import type { GenerateOptions, LLMEvent, Message } from '../../lib/core/messages.ts';
import type { ChatLLM } from '../../lib/providers/llm/chat-llm.ts';
import type { LLMConfig } from '../../lib/providers/llm/llm-config.ts';
import { llmContract } from '../../lib/testing/contracts/model-and-voice.ts';
import {
  bodyJson,
  startSandbox,
  type Fault,
  type Sandbox,
  type ServiceName,
  type ServiceRecord,
  type VendorName,
} from '../../samples/sandbox/index.ts';
import { outcomeOf, passing, type Outcome } from '../providers/llm/llm-fixture.ts';
import { until } from '../transport/http-fixture.ts';
import { TestClock } from '../transport/test-clock.ts';

const key = 'sandbox-key';
const canary = 'canary-0123456789';
type Llm = ChatLLM<LLMConfig>;

/** A provider, and what is peculiar to its service. */
export interface LLMSubject {
  readonly name: string;
  readonly vendor: VendorName;
  readonly service: ServiceName;
  readonly create: (config: LLMConfig, logger: Logger) => Llm;
  /** Whether the service counts tokens without being asked to. */
  readonly isCounting: boolean;
  /** Whether the service lets in who brings no credential. */
  readonly isOpen?: boolean;
  /** The status that refuses a credential. Default: 401. */
  readonly refusedStatus?: number;
  /** Events of the service before the first token. */
  readonly greetings: number;
  /** Whether the model takes stop sequences; where it does not, they are left out. Default: true. */
  readonly stops?: boolean;
}

const said = (content: string): Message[] => [{ role: 'user', content }];
const hi = said('Hello');
const hello = 'Hello! How can I help you?';
const weather = {
  name: 'get_weather',
  description: 'The weather in a city',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const textOf = (events: readonly LLMEvent[]): string =>
  events.map((event) => (event.type === 'token' ? event.text : '')).join('');
const all = (events$: Observable<LLMEvent>): Promise<LLMEvent[]> => lastValueFrom(events$.pipe(toArray()));

/** What every language model does over real sockets: its answers, and the rows of the fault matrix. */
export function describeLLM({
  name,
  vendor,
  service,
  create,
  isOpen = false,
  isCounting,
  refusedStatus = 401,
  greetings,
  stops = true,
}: LLMSubject): void {
  describe(`${name} in the sandbox`, () => {
    let sandbox: Sandbox;
    let llm: Llm;
    const lines: string[] = [];
    const write = (line: string): number => lines.push(line);
    const logger: Logger = { ...silentLogger, debug: write, info: write, warn: write, error: write };

    beforeAll(async () => {
      sandbox = await startSandbox();
    });
    beforeEach(() => {
      llm = create({}, logger);
    });
    afterEach(async () => {
      await llm.dispose();
      sandbox.clearFaults();
      sandbox.clearRecords();
      lines.length = 0;
    });
    afterAll(() => sandbox.close());

    const records = (): readonly ServiceRecord[] => sandbox.records(service);
    async function ready(config: LLMConfig = {}): Promise<Llm> {
      await llm.dispose();
      llm = create({ apiKey: key, endpoint: sandbox.endpoints[vendor], ...config }, logger);
      await llm.initialize();
      return llm;
    }
    /** An answer while a fault is set, in a time of its own. */
    async function through(fault: Fault, config: LLMConfig = {}): Promise<Outcome> {
      sandbox.setFault(service, fault);
      const scheduler = new TestClock();
      await ready({ scheduler, ...config });
      return passing(scheduler, outcomeOf(llm.generate(hi)));
    }

    const contract = llmContract(() => create({ apiKey: key, endpoint: sandbox.endpoints[vendor] }, logger), {
      questions: ['say one two three four five six seven', 'What is my name?'],
      ...(!isOpen && { failing: () => create({ apiKey: canary, endpoint: sandbox.endpoints[vendor] }, logger) }),
      credential: canary,
    });
    for (const { name: rule, run } of contract) it(rule, run);

    it('answers with a credential, and says what it cost', async () => {
      const events = await all((await ready()).generate(hi));
      expect(textOf(events)).toBe(hello);
      const last = events.at(-1);
      expect(last).toMatchObject({ type: 'done', finishReason: 'stop' });
      const usage = last?.type === 'done' ? last.usage : undefined;
      if (isCounting) expect(usage?.totalTokens).toBe((usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0));
      else expect(usage).toBeUndefined();
      expect(records()).toMatchObject([{ status: 200, proxied: false, aborted: false }]);
    });

    it('answers through a proxy, to which it brings no credential', async () => {
      const events = await all((await ready({ proxyUrl: sandbox.proxies[vendor] })).generate(hi));
      expect(textOf(events)).toBe(hello);
      expect(records()).toMatchObject([{ status: 200, proxied: true }]);
    });

    if (!isOpen) {
      it('is refused with a wrong credential: once, for good, and nobody gets to see it', async () => {
        const { error } = await outcomeOf((await ready({ apiKey: canary })).generate(hi));
        expect(error).toMatchObject({ code: 'unauthorized', status: refusedStatus, recoverable: false });
        expect(records()).toHaveLength(1);
        expect([inspect(error, { depth: 9 }), inspect(llm, { depth: 9 }), ...lines].join()).not.toContain(canary);
      });
    }

    it('remembers the conversation that it is given', async () => {
      const messages: Message[] = [
        { role: 'system', content: 'Be brief.' },
        ...said('My name is Ada.'),
        { role: 'assistant', content: 'Nice to meet you.' },
        ...said('What is my name?'),
      ];
      expect(textOf(await all((await ready()).generate(messages)))).toBe('Your name is Ada.');
    });

    it('follows a script and keeps its limits', async () => {
      const config = { systemPrompt: 'sandbox: {"rules":[{"when":"greet","say":"one two three four","think":"Hm."}]}' };
      expect(textOf(await all((await ready(config)).generate(said('greet'))))).toBe('one two three four');
      const cut = await all((await ready({ ...config, maxTokens: 2 })).generate(said('greet')));
      expect(cut.at(-1)).toMatchObject({ finishReason: 'length' });
      const stopped = await all((await ready({ ...config, stopSequences: ['three'] })).generate(said('greet')));
      expect(textOf(stopped).trim()).toBe(stops ? 'one two' : 'one two three four');
    });

    it('calls tools, two at once, and speaks of their results', async () => {
      await ready();
      const options: GenerateOptions = { tools: [weather] };
      const messages = said('What is the weather in Paris and Rome?');
      const events = await all(llm.generate(messages, options));
      const calls = events.flatMap((event) => (event.type === 'tool-call' ? [event] : []));
      expect(calls.map(({ name: tool, args }) => [tool, args])).toEqual([
        ['get_weather', { city: 'Paris' }],
        ['get_weather', { city: 'Rome' }],
      ]);
      expect(textOf(events)).toBe('One moment.');
      expect(events.at(-1)).toMatchObject({ finishReason: 'tool-calls' });

      const [paris, rome] = calls;
      const results: Message[] = [
        { role: 'assistant', content: 'One moment.', toolCalls: calls },
        { role: 'tool', toolCallId: rome?.id ?? '', content: 'Timed out.', isError: true },
        { role: 'tool', toolCallId: paris?.id ?? '', content: '{"sky":"sunny"}' },
      ];
      const answer = textOf(await all(llm.generate([...messages, ...results], options)));
      expect(answer).toMatch(/^get_weather says: sky sunny\. get_weather failed: (Error: )?Timed out\.$/);
      expect(textOf(await all(llm.generate([...messages, ...results], { ...options, toolChoice: 'none' })))).toBe(
        answer,
      );
      expect(records().map(({ refusal }) => refusal)).toEqual([undefined, undefined, undefined]);
    });

    it('makes the call that it is told to make', async () => {
      await ready();
      for (const toolChoice of ['required', { name: 'get_weather' }] as const) {
        const events = await all(llm.generate(hi, { tools: [weather], toolChoice }));
        expect(events.at(-1)).toMatchObject({ finishReason: 'tool-calls' });
      }
    });

    it('has its history taken, whatever an interruption left of it', async () => {
      await ready();
      const call = { id: 'call 1', name: 'get_weather', args: undefined, argsText: '{"ci' };
      const histories: Message[][] = [
        [],
        [{ role: 'system', content: 'Be brief.' }],
        [{ role: 'assistant', content: 'Welcome!' }],
        [{ role: 'assistant', content: 'Welcome!' }, ...hi, { role: 'assistant', content: '' }, ...hi],
        [...hi, { role: 'assistant', content: 'It is sun' }],
        [...hi, { role: 'assistant', content: 'It is sun' }, ...said('Stop')],
        [...hi, { role: 'assistant', content: '', toolCalls: [call] }, ...said('Stop')],
        [
          ...[
            ...hi,
            { role: 'assistant', content: 'One moment.', toolCalls: [call, { ...call, id: 'call 2' }] } as const,
          ],
          ...[{ role: 'tool', toolCallId: 'call 2', content: 'sunny' } as const, ...said('Stop')],
        ],
        [{ role: 'tool', toolCallId: 'gone', content: 'x' }, { role: 'assistant', content: 'It is sunny.' }, ...hi],
        [...hi, { role: 'assistant', content: 'So' }, { role: 'system', content: 'Hurry.' }, ...hi],
      ];
      for (const history of histories) await all(llm.generate(history, { tools: [weather] }));
      expect(records().map(({ status, refusal }) => [status, refusal])).toEqual(histories.map(() => [200, undefined]));
    });

    it('asks on one connection for all answers', async () => {
      await ready();
      for (let count = 0; count < 3; count++) await all(llm.generate(hi));
      expect(new Set(records().map(({ headers }) => headers['connection']))).toEqual(new Set(['keep-alive']));
    });

    it('lets the service see that it is aborted, in the middle of an answer', async () => {
      await ready();
      const subscription = llm.generate(said('say slowly one two three four five six seven')).subscribe();
      await firstValueFrom(llm.tokens$);
      subscription.unsubscribe();
      await until(() => records()[0]?.aborted === true);
    });

    describe('through a fault', () => {
      const passes: readonly [string, Fault][] = [
        ['bodies that come byte by byte (F22)', { kind: 'splitEveryByte' }],
        ['garbage between the events (F11, F24)', { kind: 'garbage', after: greetings }],
        ['a connection that is cut before the answer', { kind: 'refuse', times: 2 }],
        ['an answer that breaks off before its first token', { kind: 'dropAfter', messages: 1, times: 1 }],
        ['an error before the first token', { kind: 'error', after: 1, times: 1 }],
        ['503, twice (F19)', { kind: 'status', status: 503, times: 2 }],
        ['429 with a wait (F18)', { kind: 'status', status: 429, retryAfter: 2, times: 1 }],
        ['a service that never answers, once', { kind: 'neverReady', times: 1 }],
        ['a service that stalls before its first token (F21)', { kind: 'stall', after: 1, times: 1 }],
      ];
      for (const [what, fault] of passes) {
        it(`it answers: ${what}`, async () => {
          const { text, error } = await through(fault);
          expect(error).toBeUndefined();
          expect(text).toBe(hello);
        });
      }

      const failures: readonly [string, Fault, Partial<VoiceError>, number][] = [
        ['400', { kind: 'status', status: 400 }, { code: 'configuration', recoverable: false }, 1],
        ['401 (F17)', { kind: 'status', status: 401 }, { code: 'unauthorized', recoverable: false }, 1],
        ['503 again and again (F19)', { kind: 'status', status: 503 }, { code: 'overloaded', recoverable: true }, 3],
        // The connection that was opened beforehand may have been closed before: its end is not the request's.
        ['a connection that is cut again and again', { kind: 'refuse' }, { code: 'connection', recoverable: true }, 4],
        [
          'a wait that is longer than the turn may take (F18)',
          { kind: 'status', status: 429, retryAfter: 600 },
          { code: 'rate_limited', retryAfterMs: 600_000 },
          1,
        ],
        [
          'a page in place of a stream (F24)',
          { kind: 'status', status: 404, body: '<html>' },
          { code: 'not_found', recoverable: false },
          1,
        ],
      ];
      for (const [what, fault, expected, attempts] of failures) {
        it(`it fails after ${attempts} requests: ${what}; the next turn works`, async () => {
          const { text, error } = await through(fault);
          expect(error).toMatchObject(expected);
          expect([text, records().length]).toEqual(['', attempts]);
          sandbox.clearFaults();
          expect(textOf(await all((await ready()).generate(hi)))).toBe(hello);
        });
      }

      const partial: readonly [string, Fault, VoiceError['code']][] = [
        ['breaks off (F20)', { kind: 'dropAfter', messages: greetings + 2 }, 'connection'],
        ['stalls (F21)', { kind: 'stall', after: greetings + 2 }, 'timeout'],
        ['ends in an error', { kind: 'error', after: greetings + 2 }, vendor === 'mu' ? 'overloaded' : 'server'],
      ];
      for (const [what, fault, code] of partial) {
        it(`an answer that ${what} after its first words keeps them, and is not asked for again`, async () => {
          const { text, error } = await through(fault);
          expect(error).toMatchObject({ code, recoverable: true });
          expect(text).not.toBe('');
          expect(hello.startsWith(text)).toBe(true);
          expect(records()).toHaveLength(1);
        });
      }

      it('a redirect to another place does not get the credential (F47)', async () => {
        const other = await startSandbox();
        const location = `${other.endpoints[vendor]}/elsewhere`;
        const { error } = await through({ kind: 'status', status: 307, headers: { location } });
        expect(error).toMatchObject({ code: 'configuration', status: 307, recoverable: false });
        expect(error?.message).toContain(new URL(other.url).host);
        expect(other.records()).toHaveLength(0);
        await other.close();
      });
    });

    it('sends nothing that the service does not know', async () => {
      await all((await ready({ maxTokens: 50, stopSequences: ['X'] })).generate(hi, { tools: [weather] }));
      expect(records()).toMatchObject([{ status: 200, refusal: undefined }]);
      expect(
        records()
          .map((record) => JSON.stringify(bodyJson(record)))
          .join(),
      ).not.toContain('null');
    });
  });
}
