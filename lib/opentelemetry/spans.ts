import {
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type HrTime,
  type Span,
  type SpanKind,
  type Tracer,
} from '@opentelemetry/api';

interface Open {
  readonly span: Span;
  readonly context: Context;
  readonly at: number;
}

/** A moment as seconds and nanoseconds: of a number, the SDK guesses what clock it is of. */
const timeOf = (at: number): HrTime => [Math.floor(at / 1000), Math.round((at % 1000) * 1e6)];

/** How a span begins. */
export interface SpanStart {
  /** Milliseconds, on the pipeline's clock. */
  readonly at: number;
  readonly kind: SpanKind;
  readonly attributes: Attributes;
  /** The keys of spans that may hold it; the first one that is open does. */
  readonly within: readonly string[];
}

/** Spans that are open, by keys of ours. */
export class Spans {
  readonly #tracer: Tracer;
  readonly #root: Context;
  readonly #open = new Map<string, Open>();

  /** @param root - What holds a conversation, such as the request that began it. */
  constructor(tracer: Tracer, root: Context = ROOT_CONTEXT) {
    this.#tracer = tracer;
    this.#root = root;
  }

  has(key: string): boolean {
    return this.#open.has(key);
  }

  open(key: string, name: string, { at, kind, attributes, within }: SpanStart): void {
    this.close(key, at);
    const holder = within.map((each) => this.#open.get(each)).find((each) => each !== undefined);
    const span = this.#tracer.startSpan(
      name,
      { kind, attributes, startTime: timeOf(at) },
      holder?.context ?? this.#root,
    );
    this.#open.set(key, { span, context: trace.setSpan(holder?.context ?? this.#root, span), at });
  }

  set(key: string, attributes: Attributes): void {
    this.#open.get(key)?.span.setAttributes(attributes);
  }

  /** Something that happened at a moment; false if the span is not open. */
  note(key: string, name: string, at: number, attributes: Attributes = {}): boolean {
    const open = this.#open.get(key);
    open?.span.addEvent(name, attributes, timeOf(at));
    return open !== undefined;
  }

  /** Ends a span; returns how long it lasted, in milliseconds. */
  close(key: string, at: number, attributes: Attributes = {}): number | undefined {
    const open = this.#open.get(key);
    if (!open) return undefined;
    this.#open.delete(key);
    open.span.setAttributes(attributes);
    if (attributes['error.type'] !== undefined) open.span.setStatus({ code: SpanStatusCode.ERROR });
    open.span.end(timeOf(at));
    return at - open.at;
  }

  /** Ends all that is open, the latest first. */
  closeAll(at: number): void {
    for (const key of [...this.#open.keys()].reverse()) this.close(key, at);
  }
}
