import { obj, objs, str, type WireObject } from '../../core/guard.ts';
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

/** The voices of a page of the catalog; older versions give the bare list. */
export function rhoVoices(page: unknown): TTSVoice[] {
  return objs(Array.isArray(page) ? page : obj(page)?.['voices']).flatMap(voiceOf);
}

function voiceOf(voice: WireObject): TTSVoice[] {
  const id = str(voice['id']);
  if (id === undefined) return [];
  const models = objs(voice['models']);
  const spoken = models.flatMap(({ languages }) => objs(languages).flatMap(({ locale }) => str(locale) ?? []));
  const gender = str(voice['gender']);
  const previewUrl = str(voice['preview_audio']);
  return [
    {
      ...{ id, name: str(voice['display_name']) ?? id },
      languages: [...new Set([str(voice['locale']) ?? [], spoken].flat())],
      models: models.flatMap(({ name }) => str(name) ?? []),
      // Older versions write it in one word.
      ...(gender && { gender: gender === 'notSpecified' ? 'not_specified' : gender }),
      ...(previewUrl && { previewUrl }),
    },
  ];
}
