import { Observable, Subject, type Observer } from 'rxjs';
import { codecOf } from '../audio/codec.ts';
import { describeFormat, sameFormat } from '../audio/described.ts';
import { negotiateFormat } from '../audio/negotiate.ts';
import type { AudioChunk, AudioFormat, AudioMetadata } from '../audio/types.ts';
import { catchLater } from '../core/application-code.ts';
import { VoiceError } from '../core/errors.ts';
import { OnDemand } from '../core/on-demand.ts';
import type { InputProvider, OutputProvider, TTSProvider } from '../core/roles.ts';
import { decodeAudio, type OpenFile } from '../playback/decode-audio.ts';
import { transcode } from '../operators/transcode.ts';
import { feed } from '../stream/feed.ts';

/** How audio is converted between two providers. */
export interface AudioPath {
  readonly from: AudioMetadata;
  readonly to: AudioMetadata;
  readonly transcoded: boolean;
  convert(audio$: Observable<AudioChunk>): Observable<AudioChunk>;
  /** Loads what the conversion needs. @throws VoiceError `missing_package`, with the install command. */
  prepare?(): Promise<unknown>;
}

/** The providers between which audio passes, by name. */
export interface AudioRoute {
  readonly source: string;
  readonly target: string;
}

/**
 * Chooses the format between two providers: unchanged if the second accepts it, else with one conversion, after a
 * decoder if the audio is compressed.
 *
 * @throws VoiceError `unsupported_format` when none works.
 */
export function audioPath(
  from: AudioMetadata,
  accepts: readonly AudioFormat[],
  { source, target }: AudioRoute,
): AudioPath {
  const settled = negotiateFormat(from, accepts);
  if (!settled) {
    const decoded = decodedPath(from, accepts, { source, target });
    if (decoded) return decoded;
    const taken = accepts.map(({ encoding }) => encoding).join(', ');
    throw new VoiceError(
      `${target} cannot accept ${describeFormat(from)} from ${source}; it accepts ${taken}: configure ${source} for one of these`,
      { code: 'unsupported_format', provider: target },
    );
  }
  const { target: to, passthrough } = settled;
  return {
    from,
    to,
    transcoded: !passthrough,
    convert(audio$) {
      return passthrough ? audio$ : audio$.pipe(transcode(to));
    },
  };
}

/** The path of compressed audio that is decoded as it arrives. */
function decodedPath(
  from: AudioMetadata,
  accepts: readonly AudioFormat[],
  { source }: AudioRoute,
): AudioPath | undefined {
  const codec = codecOf(from);
  const sampleRate = codec === 'opus' ? 48_000 : from.sampleRate;
  const to = codec && negotiateFormat({ encoding: 'linear32', sampleRate, channels: from.channels }, accepts)?.target;
  if (!to) return undefined;
  const code = new OnDemand(source, () => import('../playback/decoders.ts'));
  const prepare = (): Promise<OpenFile> => code.load().then(({ openFor }) => openFor(source, codec));
  return {
    ...{ from, to, transcoded: true, prepare },
    convert: (audio$) => audio$.pipe(decodeAudio<never>(prepare), transcode(to)),
  };
}

/**
 * Detects a voice that the output cannot play before it is heard as silence.
 *
 * @throws VoiceError `unsupported_format`; `missing_package` when a package that decodes it is not installed.
 */
export async function assertPlayable(tts: TTSProvider, output: OutputProvider): Promise<void> {
  const metadata = formatOf(tts);
  if (metadata) await audioPath(metadata, output.accepts, { source: tts.name, target: output.name }).prepare?.();
}

/**
 * The format that a provider names.
 *
 * @throws VoiceError `configuration` when its method is async.
 */
export function formatOf(provider: InputProvider): AudioMetadata;
export function formatOf(provider: InputProvider | TTSProvider): AudioMetadata | undefined;
export function formatOf(provider: InputProvider | TTSProvider): AudioMetadata | undefined {
  const metadata = provider.getMetadata?.();
  if (!(metadata instanceof Promise)) return metadata;
  catchLater(metadata, () => undefined);
  const message = `${provider.name}: getMetadata() must return the format, not a promise of it`;
  throw new VoiceError(message, { code: 'configuration', provider: provider.name });
}

/** The stream in one format. */
interface Run {
  readonly from: AudioMetadata;
  readonly target: Pick<Observer<AudioChunk>, 'next' | 'complete'>;
}

/**
 * Chooses the format of each stream when its first chunk reveals it, and again where another voice continues in another
 * format; streams of one format share the choice.
 */
export function adapt(
  accepts: readonly AudioFormat[],
  { source: first, target }: AudioRoute,
  onPath: (path: AudioPath, route: AudioRoute) => void,
): (audio$: Observable<AudioChunk>, sourceOf?: (chunk: AudioChunk) => string) => Observable<AudioChunk> {
  let latest: AudioPath | undefined;
  let speaker: string | undefined;
  const pathOf = ({ metadata }: AudioChunk, source: string): AudioPath => {
    if (!metadata) {
      const message = `${source} sends audio without a format`;
      throw new VoiceError(message, { code: 'unsupported_format', provider: source });
    }
    const route = { source, target };
    const isKnown = latest !== undefined && sameFormat(latest.from, metadata);
    const path = isKnown && latest ? latest : audioPath(metadata, accepts, route);
    if (!isKnown || source !== speaker) onPath(path, route);
    latest = path;
    speaker = source;
    return path;
  };
  return (audio$, sourceOf = () => first) =>
    new Observable((subscriber) => {
      let run: Run | undefined;
      /** Chunks that wait until the converter of the previous format has been flushed. */
      const held: AudioChunk[] = [];
      let isEnding = false;
      let isComplete = false;
      const take = (chunk: AudioChunk): void => {
        const { metadata } = chunk;
        if (isEnding) held.push(chunk);
        else if (run && metadata && metadata !== run.from && !sameFormat(run.from, metadata)) {
          held.push(chunk);
          isEnding = true;
          run.target.complete();
        } else (run ??= begin(chunk)).target.next(chunk);
      };
      const end = (): void => {
        isEnding = false;
        run = undefined;
        try {
          held.splice(0).forEach(take);
        } catch (error) {
          subscriber.error(error);
        }
        if (isComplete) finish();
      };
      const finish = (): void => {
        isComplete = true;
        if (isEnding) return;
        if (run) run.target.complete();
        else subscriber.complete();
      };
      const begin = (chunk: AudioChunk): Run => {
        const path = pathOf(chunk, sourceOf(chunk));
        const next = (converted: AudioChunk): void => subscriber.next(converted);
        if (!path.transcoded) return { from: path.from, target: { next, complete: end } };
        const chunks$ = new Subject<AudioChunk>();
        subscriber.add(
          path.convert(chunks$).subscribe({ next, error: (error: unknown) => subscriber.error(error), complete: end }),
        );
        const target: Run['target'] = chunks$;
        return { from: path.from, target };
      };
      feed(audio$, subscriber, { next: take, complete: finish });
    });
}
