/** Conversations as OpenTelemetry's own SDK exports them. */
import { SpanStatusCode, type Attributes } from '@opentelemetry/api';
import { DataPointType, MeterProvider, MetricReader, type CollectionResult } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { from } from 'rxjs';
import type { LLMEvent, VoiceEvent } from 'rxvoice';
import { traceConversation, type TraceOptions } from '../../lib/opentelemetry/index.ts';
import { application, tokensOf, user, voiceTest } from '../../lib/testing/index.ts';

class Reader extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

interface Told {
  readonly spans: readonly ReadableSpan[];
  readonly metrics: CollectionResult;
  readonly span: (name: string) => ReadableSpan;
  readonly spansOf: (name: string) => readonly ReadableSpan[];
  readonly childrenOf: (span: ReadableSpan) => string[];
  readonly points: (metric: string) => [Attributes, number][];
}

async function told(events: readonly VoiceEvent[], options: TraceOptions = {}): Promise<Told> {
  const exporter = new InMemorySpanExporter();
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const reader = new Reader();
  const meters = new MeterProvider({ readers: [reader] });
  traceConversation(
    { events$: from(events) },
    { tracer: tracers.getTracer('test'), meter: meters.getMeter('test'), ...options },
  );
  const spans = exporter.getFinishedSpans();
  const metrics = await reader.collect();
  const spansOf = (name: string): ReadableSpan[] => spans.filter((each) => each.name === name);
  return {
    ...{ spans, metrics, spansOf },
    span: (name) => {
      const [found] = spansOf(name);
      if (!found) throw new Error(`no span ${name}: ${spans.map((each) => each.name).join()}`);
      return found;
    },
    childrenOf: (span) =>
      spans.filter((each) => each.parentSpanContext?.spanId === span.spanContext().spanId).map(({ name }) => name),
    points: (metric) =>
      metrics.resourceMetrics.scopeMetrics
        .flatMap((scope) => scope.metrics)
        .filter(({ descriptor }) => descriptor.name === metric)
        .flatMap((data) =>
          data.dataPointType === DataPointType.HISTOGRAM
            ? data.dataPoints.map(({ attributes, value }): [Attributes, number] => [attributes, value.sum ?? NaN])
            : data.dataPoints.map(({ attributes, value }): [Attributes, number] => [attributes, value as number]),
        ),
  };
}

const ms = ([seconds, nanos]: [number, number]): number => seconds * 1000 + nanos / 1e6;
const lasted = ({ startTime, endTime }: ReadableSpan): [number, number] => [ms(startTime), ms(endTime)];

const call = { id: 'call-1', name: 'get_time', args: {}, argsText: '{"city":"canary"}' };
const usage = { inputTokens: 40, outputTokens: 7 };
const withTool = (): ReturnType<typeof voiceTest> =>
  voiceTest({
    llm: {
      answer: (_, request): readonly LLMEvent[] =>
        request === 1
          ? [
              { type: 'tool-call', ...call },
              { type: 'done', finishReason: 'tool-calls', usage },
            ]
          : [...tokensOf('It is noon.').slice(0, -1), { type: 'done', finishReason: 'stop', usage }],
    },
    tools: [{ name: 'get_time', execute: () => 'noon' }],
    steps: {
      500: user.starts,
      1_000: user.interim('canary'),
      1_500: [user.falls, user.final('canary what time is it')],
    },
    untilMs: 20_000,
  });

describe('traceConversation', () => {
  it('has a span for the session, the turn, the user, each request, the tool and the speech', async () => {
    const { events } = withTool();
    const { span, spansOf, childrenOf } = await told(events, {
      conversationId: 'call-7',
      services: { FakeLLM: { provider: 'openai', model: 'small-1' } },
    });
    const session = span('voice_session');
    expect(session.parentSpanContext).toBeUndefined();
    expect(childrenOf(session)).toEqual(['invoke_agent']);
    const turn = span('invoke_agent');
    expect(childrenOf(turn)).toEqual(['transcribe', 'chat small-1', 'execute_tool get_time', 'chat small-1', 'speak']);
    expect(turn.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.conversation.id': 'call-7',
      'rxvoice.turn.end_reason': 'completed',
    });
    expect(spansOf('chat small-1').map(({ attributes }) => attributes)).toMatchObject([
      {
        ...{ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'small-1' },
        ...{ 'gen_ai.response.finish_reasons': ['tool_call'], 'gen_ai.usage.input_tokens': 40 },
      },
      { 'gen_ai.response.finish_reasons': ['stop'], 'gen_ai.usage.output_tokens': 7 },
    ]);
    expect(span('execute_tool get_time').attributes).toMatchObject({
      ...{ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'get_time' },
      ...{ 'gen_ai.tool.call.id': 'call-1', 'gen_ai.tool.type': 'function' },
    });
  });

  it("has the times of the conversation's own clock", async () => {
    const { events } = withTool();
    const { span } = await told(events);
    const at = (type: VoiceEvent['type']): number => events.find((event) => event.type === type)?.at ?? NaN;
    expect(lasted(span('invoke_agent'))).toEqual([at('turn.started'), at('turn.ended')]);
    expect(lasted(span('transcribe'))).toEqual([at('turn.started'), at('turn.committed')]);
    expect(lasted(span('speak'))).toEqual([at('speech.created'), at('speech.ended')]);
    expect(span('speak').events.map(({ name, time }) => [name, ms(time)])).toEqual([['audible', at('speech.started')]]);
  });

  it('tells no word, unless it is asked to', async () => {
    const { events } = withTool();
    const quiet = await told(events);
    const text = JSON.stringify(quiet.spans.map((each) => [each.name, each.attributes, each.events]));
    expect(text).not.toMatch(/canary|noon/);
    const { span, spansOf } = await told(events, { content: true });
    expect(span('invoke_agent').attributes['gen_ai.input.messages']).toBe(
      '[{"role":"user","parts":[{"type":"text","content":"canary what time is it"}]}]',
    );
    expect(spansOf('chat')[1]?.attributes['gen_ai.output.messages']).toBe(
      '[{"role":"assistant","parts":[{"type":"text","content":"It is noon."}],"finish_reason":"stop"}]',
    );
    expect(span('execute_tool get_time').attributes).toMatchObject({
      'gen_ai.tool.call.arguments': call.argsText,
      'gen_ai.tool.call.result': 'noon',
    });
  });

  it('measures turns by their parts, requests, tokens and interruptions', async () => {
    const { events } = voiceTest({
      llm: {
        answer: () => [
          ...tokensOf('One two three four five six.').slice(0, -1),
          { type: 'done', finishReason: 'stop', usage },
        ],
      },
      steps: {
        500: [user.starts, user.final('count')],
        1_600: user.starts,
        1_900: user.interim('not'),
        2_000: user.interim('not that'),
        2_400: [user.falls, user.final('not that')],
        9_000: application.send('thanks'),
      },
      untilMs: 20_000,
    });
    const { points, spansOf } = await told(events, { attributes: { 'deployment.environment.name': 'test' } });
    const turns = points('rxvoice.turns').map(([attributes, count]) => [attributes['rxvoice.turn.end_reason'], count]);
    expect(turns).toEqual([
      ['interrupted', 1],
      ['completed', 2],
    ]);
    expect(points('rxvoice.interruptions')).toEqual([[{ 'deployment.environment.name': 'test' }, 1]]);
    expect(spansOf('speak').map(({ attributes }) => attributes['rxvoice.speech.interrupted'])).toEqual([
      true,
      false,
      false,
    ]);
    const tokens = points('gen_ai.client.token.usage');
    expect(tokens.map(([attributes]) => attributes['gen_ai.token.type'])).toEqual(['input', 'output']);
    const metrics = events.filter((event): event is VoiceEvent<'turn.metrics'> => event.type === 'turn.metrics');
    const total = metrics.reduce((sum, event) => sum + (event.total ?? 0), 0) / 1000;
    const found = points('rxvoice.turn.latency').find(([attributes]) => attributes['rxvoice.turn.part'] === 'total');
    expect(found?.[1]).toBeCloseTo(total);
    const [[attributes, seconds] = [{}, 0]] = points('gen_ai.client.operation.duration');
    expect(attributes).toMatchObject({ 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'FakeLLM' });
    expect(seconds).toBeGreaterThan(0);
  });

  it('tells errors by their code alone, and which turn failed', async () => {
    const error: VoiceEvent = {
      ...{ type: 'error', at: 20, turnId: 't', role: 'llm', provider: 'NuLLM', cause: undefined },
      ...{ code: 'rate_limited', message: 'canary', recoverable: true },
    };
    const { span, points, spans } = await told([
      { type: 'turn.started', at: 10, turnId: 't', source: 'text' },
      error,
      { type: 'turn.ended', at: 30, turnId: 't', reason: 'error' },
      { ...error, at: 40, code: 'connection' },
      { type: 'session.closed', at: 50, usage: [] },
    ]);
    expect(span('invoke_agent').status.code).toBe(SpanStatusCode.ERROR);
    expect(span('invoke_agent').events).toMatchObject([
      { name: 'error', attributes: { 'error.type': 'rate_limited' } },
    ]);
    expect(span('voice_session').events).toMatchObject([{ attributes: { 'error.type': 'connection' } }]);
    expect(lasted(span('voice_session'))).toEqual([10, 50]);
    expect(points('rxvoice.errors').map(([attributes]) => attributes['error.type'])).toEqual([
      ...['rate_limited', 'connection'],
    ]);
    expect(JSON.stringify(spans.map(({ attributes, events }) => [attributes, events]))).not.toContain('canary');
  });

  it('ends what is open when it is stopped', async () => {
    const { spans } = await told([
      { type: 'turn.started', at: 10, turnId: 't', source: 'speech' },
      { type: 'llm.started', at: 20, turnId: 't', provider: 'NuLLM', round: 1 },
    ]);
    expect(spans.map(({ name }) => name)).toEqual(['chat', 'transcribe', 'invoke_agent', 'voice_session']);
    expect(spans[0]?.attributes['gen_ai.provider.name']).toBe('groq');
  });
});
