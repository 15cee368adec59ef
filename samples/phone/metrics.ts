import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Counter, Meter, UpDownCounter } from '@opentelemetry/api';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { emptyResource } from '@opentelemetry/resources';
import {
  DataPointType,
  MeterProvider,
  MetricReader,
  type DataPoint,
  type GaugeMetricData,
  type Histogram,
  type HistogramMetricData,
  type MetricData,
  type SumMetricData,
} from '@opentelemetry/sdk-metrics';

/** What a process has measured so far, as OpenTelemetry collects it: plain data, which processes can exchange. */
export type Snapshot = readonly MetricData[];

const lag = 'phone.event_loop_lag_seconds';

/** Collects when it is asked. */
class Collector extends MetricReader {
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }

  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

/** The metrics of one process. Those of its conversations come from `traceConversation()`, which gets the meter. */
export class Metrics {
  readonly meter: Meter;
  readonly callsActive: UpDownCounter;
  readonly calls: Counter;
  readonly callsRefused: Counter;
  readonly #collector = new Collector();
  readonly #delay = monitorEventLoopDelay({ resolution: 10 });

  constructor() {
    this.meter = new MeterProvider({ readers: [this.#collector] }).getMeter('phone');
    this.callsActive = this.meter.createUpDownCounter('phone.calls.active', { description: 'Calls in progress' });
    this.calls = this.meter.createCounter('phone.calls', { description: 'Calls answered, by platform' });
    this.callsRefused = this.meter.createCounter('phone.calls.refused', { description: 'Calls refused, by reason' });
    this.callsActive.add(0);
    this.#delay.enable();
    const gauge = (name: string, description: string, value: () => number): void =>
      this.meter.createObservableGauge(name, { description }).addCallback((result) => result.observe(value()));
    gauge(lag, 'How late the event loop is, at the 99th percentile', () => this.#delay.percentile(99) / 1e9 || 0);
    gauge('phone.memory_bytes', 'Resident memory', () => process.memoryUsage.rss());
    gauge('phone.processes', 'Processes that answer calls', () => 1);
  }

  async snapshot(): Promise<Snapshot> {
    const { resourceMetrics } = await this.#collector.collect();
    return resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
  }

  /** Measures the process no longer; what was measured can still be read. */
  close(): void {
    this.#delay.disable();
  }
}

/** The metrics of several processes as one: sums, and the worst lag. */
export function merged(snapshots: readonly Snapshot[]): Snapshot {
  const all = new Map<string, MetricData>();
  for (const metric of snapshots.flat()) {
    const { name } = metric.descriptor;
    const before = all.get(name);
    all.set(name, before ? both(before, metric) : metric);
  }
  return [...all.values()];
}

function both(one: MetricData, other: MetricData): MetricData {
  if (isHistogram(one) && isHistogram(other)) {
    return { ...one, dataPoints: bothPoints(one.dataPoints, other.dataPoints, bothHistograms) };
  }
  if (!isNumber(one) || !isNumber(other)) return other;
  const add = one.descriptor.name === lag ? Math.max : (a: number, b: number): number => a + b;
  return { ...one, dataPoints: bothPoints(one.dataPoints, other.dataPoints, add) };
}

/** Points with the same attributes become one. */
function bothPoints<T>(some: DataPoint<T>[], others: DataPoint<T>[], add: (a: T, b: T) => T): DataPoint<T>[] {
  const points = new Map(some.map((point) => [JSON.stringify(point.attributes), point]));
  for (const point of others) {
    const key = JSON.stringify(point.attributes);
    const before = points.get(key);
    points.set(key, before ? { ...before, value: add(before.value, point.value) } : point);
  }
  return [...points.values()];
}

/** Of two histograms with the same buckets, as those of one instrument are. */
function bothHistograms(one: Histogram, other: Histogram): Histogram {
  const { boundaries, counts } = one.buckets;
  return {
    buckets: { boundaries, counts: counts.map((count, index) => count + (other.buckets.counts[index] ?? 0)) },
    sum: (one.sum ?? 0) + (other.sum ?? 0),
    count: one.count + other.count,
  };
}

/** What remains true of a process's metrics when it has gone: what it counted. */
export function counted(snapshot: Snapshot): Snapshot {
  return snapshot.filter((metric) => isHistogram(metric) || ('isMonotonic' in metric && metric.isMonotonic));
}

function isHistogram(metric: MetricData): metric is HistogramMetricData {
  return metric.dataPointType === DataPointType.HISTOGRAM;
}

function isNumber(metric: MetricData): metric is SumMetricData | GaugeMetricData {
  return metric.dataPointType === DataPointType.SUM || metric.dataPointType === DataPointType.GAUGE;
}

const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
const resource = emptyResource();

/** A snapshot as Prometheus reads it, text format 0.0.4. */
export function exposition(snapshot: Snapshot): string {
  // The serializer's comment that there are none does not end its line.
  if (snapshot.length === 0) return '';
  return serializer.serialize({ resource, scopeMetrics: [{ scope: { name: 'phone' }, metrics: [...snapshot] }] });
}
