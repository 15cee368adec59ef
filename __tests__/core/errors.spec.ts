import { ProviderInitializationError, VoiceError, withChanges } from '../../lib/core/errors.ts';
import { withRequestId } from '../../lib/core/request-id.ts';
import { errorOf } from '../../lib/conversation/provider-error.ts';
import { allFailed } from '../../lib/providers/fallback-provider.ts';
import { asFatal } from '../../lib/stream/backoff.ts';

const facts = { code: 'overloaded', status: 503, retryAfterMs: 2_000, requestId: 'req-7' } as const;
const cause = new Error('full');
const error = new VoiceError('A: overloaded', { ...facts, provider: 'A', recoverable: true, cause });
const other = new VoiceError('B: died', { code: 'server', provider: 'B' });

describe('a copy of an error', () => {
  it('has all of it except what changes', () => {
    const copy = withChanges(error, { recoverable: false }, 'A: still overloaded');
    expect(copy).not.toBe(error);
    expect(copy).toMatchObject({ ...facts, message: 'A: still overloaded', provider: 'A', recoverable: false, cause });
    expect(VoiceError.is(copy)).toBe(true);
    expect(withChanges(error, {}).toJSON()).toEqual(error.toJSON());
  });

  const failures = new Map([
    [0, other],
    [1, error],
  ]);
  const { requestId: _, ...unnamed } = facts;
  const copies = {
    'that was retried in vain': [asFatal(error, 3), { provider: 'A', recoverable: false, cause: error }],
    'of the last of a chain': [allFailed(failures), { provider: 'A', recoverable: true, cause: error }],
    'of an initialization': [new ProviderInitializationError('C', error), { provider: 'C', cause: error }],
    'that a provider is named for': [
      errorOf('C', new VoiceError('full', facts)),
      { provider: 'C', message: 'C: full', recoverable: false },
    ],
    'that gets its id later': [
      withRequestId(new VoiceError('full', { ...unnamed, recoverable: true, cause }), 'req-7'),
      { message: 'full', recoverable: true, cause },
    ],
  } as const;
  for (const [which, [copy, changes]] of Object.entries(copies)) {
    it(`${which} keeps the status, the wait and the service's id of the request`, () => {
      expect(copy).toMatchObject({ ...facts, ...changes });
    });
  }
});
