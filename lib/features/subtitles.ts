import { concatMap, filter, map, of, pipe, scan, startWith, type OperatorFunction } from 'rxjs';
import type { CaptionCue } from './captions.ts';

/** Options of {@link webVtt} and {@link srt}. */
export interface SubtitleOptions {
  /** Names to show, such as `{ agent: 'Nova', user: 'Caller' }`. Default: none. */
  readonly names?: { readonly agent?: string; readonly user?: string };
}

/** A complete cue, numbered from 1. */
interface Numbered {
  readonly number: number;
  readonly cue: Pick<CaptionCue, 'lines' | 'speaker' | 'startMs' | 'endMs'>;
}

/** Complete cues in order of their start, as players require. */
function numbered(): OperatorFunction<CaptionCue, Numbered> {
  return pipe(
    filter(({ isComplete, lines }) => isComplete && lines.length > 0),
    scan<CaptionCue, Numbered | undefined>((before, cue) => {
      const startMs = Math.max(cue.startMs, before?.cue.startMs ?? 0);
      return { number: (before?.number ?? 0) + 1, cue: { ...cue, startMs, endMs: Math.max(cue.endMs, startMs + 1) } };
    }, undefined),
    concatMap((each) => (each ? of(each) : [])),
  );
}

/**
 * Captions as a WebVTT file: the header at once, then each cue when complete.
 *
 * ```text
 * captions()  --a--A---b--|
 * webVtt()    h----A------|   h: the header, A: a complete cue
 * ```
 */
export function webVtt({ names = {} }: SubtitleOptions = {}): OperatorFunction<CaptionCue, string> {
  const voiceOf = (name: string | undefined): string => (name === undefined ? '' : `<v ${escaped(name)}>`);
  return pipe(
    numbered(),
    map(({ number, cue: { speaker, lines, startMs, endMs } }) => {
      const times = `${time(startMs, '.')} --> ${time(endMs, '.')}`;
      return `${number}\n${times}\n${voiceOf(names[speaker])}${lines.map(escaped).join('\n')}\n\n`;
    }),
    startWith('WEBVTT\n\n'),
  );
}

/** Captions as a SubRip file (`.srt`): each cue when complete. */
export function srt({ names = {} }: SubtitleOptions = {}): OperatorFunction<CaptionCue, string> {
  return pipe(
    numbered(),
    map(({ number, cue: { speaker, lines, startMs, endMs } }) => {
      const name = names[speaker];
      const text = `${name === undefined ? '' : `${name}: `}${lines.join('\n')}`;
      return `${number}\n${time(startMs, ',')} --> ${time(endMs, ',')}\n${text}\n\n`;
    }),
  );
}

/** Escapes WebVTT's tags and entities. */
function escaped(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

function time(ms: number, point: '.' | ','): string {
  const part = (value: number, digits: number = 2): string => String(Math.floor(value)).padStart(digits, '0');
  const whole = Math.round(ms);
  const clock = [whole / 3_600_000, (whole / 60_000) % 60, (whole / 1_000) % 60].map((value) => part(value));
  return `${clock.join(':')}${point}${part(whole % 1_000, 3)}`;
}
