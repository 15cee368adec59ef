/**
 * How long after the end of speech the final arrives, in milliseconds: the 99th percentile of a thousand utterances,
 * measured by Daily with 200 ms of silence and a request to finalize where there is one. See
 * https://github.com/pipecat-ai/stt-benchmark.
 */
const lags: Readonly<Record<string, number>> = {
  AlphaSTT: 350,
  AlphaFlux: 350,
  BetaSTT: 420,
  GammaSTT: 410,
  DeltaSTT: 350,
  EpsilonSTT: 1_490,
  ZetaSTT: 740,
  ThetaRealtimeSTT: 1_660,
  KappaSTT: 1_800,
  LambdaSTT: 1_900,
};

/** The lag of a speech-to-text provider, by its name; `undefined` where none was measured. */
export function lagOf(stt: string): number | undefined {
  return Object.hasOwn(lags, stt) ? lags[stt] : undefined;
}
