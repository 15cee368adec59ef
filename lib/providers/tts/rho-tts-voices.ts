import { asObject, asObjects, asString, type WireObject } from '../../core/guard.ts';
import type { Query } from '../../core/remote-provider.ts';
import type { RhoTTSModel } from './rho-tts-config.ts';
import type { TTSVoice } from './tts-voice.ts';

/** Which voices `RhoTTS.voices()` lists; what is absent does not matter. */
export interface RhoTTSVoiceFilter {
  /** The vendor's, or the account's own. */
  readonly type?: 'shared' | 'personal';
  /** The beginning of a tag, such as `en`. */
  readonly locale?: string;
  /** As the service says. */
  readonly gender?: 'male' | 'female' | 'not_specified';
  /** The model that they belong to. */
  readonly model?: RhoTTSModel;
}

/** The voices of all pages of the catalog. */
export async function rhoVoices(
  fetchPage: (query: Query) => Promise<unknown>,
  filter: RhoTTSVoiceFilter,
  cursor?: string,
): Promise<TTSVoice[]> {
  const page = await fetchPage({ limit: 200, cursor, ...filter });
  const next = asObject(page)?.['has_more'] === true ? asString(asObject(page)?.['next_cursor']) : undefined;
  const more = next === undefined || next === cursor ? [] : await rhoVoices(fetchPage, filter, next);
  return [...voicesOf(page), ...more];
}

/** The voices of a page of the catalog; older versions give the bare list. */
function voicesOf(page: unknown): TTSVoice[] {
  return asObjects(Array.isArray(page) ? page : asObject(page)?.['voices']).flatMap(voiceOf);
}

function voiceOf(voice: WireObject): TTSVoice[] {
  const id = asString(voice['id']);
  if (id === undefined) return [];
  const models = asObjects(voice['models']);
  const spoken = models.flatMap(({ languages }) =>
    asObjects(languages).flatMap(({ locale }) => asString(locale) ?? []),
  );
  const gender = asString(voice['gender']);
  const previewUrl = asString(voice['preview_audio']);
  return [
    {
      ...{ id, name: asString(voice['display_name']) ?? id },
      languages: [...new Set([asString(voice['locale']) ?? [], spoken].flat())],
      models: models.flatMap(({ name }) => asString(name) ?? []),
      // Older versions write it in one word.
      ...(gender && { gender: gender === 'notSpecified' ? 'not_specified' : gender }),
      ...(previewUrl && { previewUrl }),
    },
  ];
}
