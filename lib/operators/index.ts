export * from '../stream/buffer-until.ts';
export * from './beeps.ts';
export * from './frames.ts';
export * from '../stream/hold-until.ts';
export * from '../playback/pace.ts';
export * from '../stream/retry-backoff.ts';
export * from './sentences.ts';
export * from './speakable.ts';
export * from '../stream/stall-timeout.ts';
export * from '../text/sentence-splitter.ts';
export { markdown, type MarkdownOptions } from '../text/markdown.ts';
export * from '../text/pronunciations.ts';
export * from '../text/spoken-forms.ts';
export { visualRange, type SpokenPiece, type SpokenSpan } from '../text/spoken-piece.ts';
export type {
  GuardAction,
  GuardContext,
  GuardedText,
  GuardReport,
  InputGuard,
  TextContext,
  TextStage,
  TextTransform,
} from '../text/text-transform.ts';
export * from './transcode.ts';
export * from './utterances.ts';
export * from './wake-phrase.ts';
