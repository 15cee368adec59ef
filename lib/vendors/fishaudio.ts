// Fish Audio's classes, under the library's names and under the vendor's: the very same.
export {
  PsiTTS,
  PsiTTS as FishAudioTTS,
  type PsiTTSConfig,
  type PsiTTSConfig as FishAudioTTSConfig,
  type PsiTTSFormat,
  type PsiTTSModel,
  type PsiTTSReference,
} from '../providers/tts/psi-tts.ts';
