/** What OpenTelemetry is told of a conversation: a trace of it, printed as a tree, without a word of what was said. */
import { trace, type Attributes, type Context, type Span, type SpanOptions, type Tracer } from '@opentelemetry/api';
import { Pipeline } from 'rxvoice';
import { traceConversation } from 'rxvoice/opentelemetry';
import type { Kit } from './kit.ts';

/** A tracer that prints; yours is an SDK's, with an exporter. */
function printer(print: (line: string) => void): Tracer {
  const none = trace.getTracer('none');
  const depths = new WeakMap<Span, number>();
  return {
    startSpan(name: string, _options?: SpanOptions, context?: Context): Span {
      const parent = context && trace.getSpan(context);
      const depth = parent ? (depths.get(parent) ?? 0) + 1 : 0;
      const span = Object.create(none.startSpan(name)) as Span;
      span.setAttributes = (attributes: Attributes): Span => {
        const tokens = attributes['gen_ai.usage.output_tokens'];
        if (typeof tokens === 'number') print(`${'  '.repeat(depth)}${name}: ${tokens} tokens`);
        return span;
      };
      depths.set(span, depth);
      print(`${'  '.repeat(depth)}${name}`);
      return span;
    },
    startActiveSpan: none.startActiveSpan.bind(none),
  };
}

export async function recipe(kit: Kit): Promise<void> {
  await using pipeline = new Pipeline({ providers: kit.providers() });
  traceConversation(pipeline, {
    tracer: printer((line) => kit.print(line)),
    services: { NuLLM: { model: 'openai/gpt-oss-20b' } },
  });
  await pipeline.start();
  await pipeline.send('Say good day').done;
}
