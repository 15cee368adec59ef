import type { SchedulerLike } from 'rxjs';
import type { AudioFormat } from '../../audio/types.ts';
import { misspeltKey } from '../../core/misspelt-key.ts';
import type { Logger } from '../../core/logger.ts';
import type { ProviderRole, ProviderType } from '../../core/roles.ts';
import { PacedOutput } from '../../playback/paced-output.ts';
import { LatePlayout } from '../../playback/late-playout.ts';

/** Configuration of {@link NullOutput}. */
export interface NullOutputConfig {
  /** False: audio counts as heard on arrival. Default: true. */
  readonly realtime?: boolean;
  /** The clock. Default: RxJS's asyncScheduler. */
  readonly scheduler?: SchedulerLike;
}

const keys: Readonly<Record<keyof NullOutputConfig, true>> = { realtime: true, scheduler: true };

const rawEncodings = ['linear16', 'linear32', 'mulaw', 'alaw'] as const;

/**
 * Discards all audio, but takes as long as it would sound: a conversation without a speaker keeps its timing and knows
 * what was heard. `heard$` gives recorders exactly that. No service, no browser.
 */
export class NullOutput extends PacedOutput<NullOutputConfig> {
  override readonly name = 'NullOutput' as const;
  override readonly roles: readonly ProviderRole[] = ['output'];
  override readonly type: ProviderType = 'rest';
  /** Raw samples of any rate, mono or stereo. */
  override readonly accepts: readonly AudioFormat[] = rawEncodings.map((encoding) => ({ encoding, channels: [1, 2] }));
  protected override readonly playout: LatePlayout;

  constructor(config: NullOutputConfig = {}, logger?: Logger) {
    super(config, logger);
    this.playout = new LatePlayout({ write: () => undefined, clear: () => undefined }, config);
  }

  protected override configProblem(): string | undefined {
    return misspeltKey(this.config, Object.keys(keys));
  }
}
