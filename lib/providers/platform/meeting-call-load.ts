// eslint-disable-next-line @typescript-eslint/triple-slash-reference -- an optional package that is not installed is declared there
/// <reference path="./optional-packages.d.ts" />
import { loadOptionalPeer, rethrow } from '../../core/optional-peer.ts';
import type { MeetingCallPackages } from './meeting-call-packages.ts';

/** @throws VoiceError `missing_package` for the one that is not installed. */
export async function loadMeetingCallPackages(provider: string): Promise<MeetingCallPackages> {
  const calling = await loadOptionalPeer(provider, '@azure/communication-calling', '>= 1.13.1', () =>
    import('@azure/communication-calling').catch(rethrow),
  );
  const common = await loadOptionalPeer(provider, '@azure/communication-common', '>= 2.0.0', () =>
    import('@azure/communication-common').catch(rethrow),
  );
  return { calling, common };
}
