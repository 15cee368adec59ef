export { manual, scorer, silence, stt, type ScorerOptions } from './strategies.ts';
export { textScorer } from './text-scorer.ts';
