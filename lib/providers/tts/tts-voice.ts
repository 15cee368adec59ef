/** A voice in a service's catalog. */
export interface TTSVoice {
  /** The id to configure. */
  readonly id: string;
  /** Its display name. */
  readonly name: string;
  /** BCP 47 tags of its languages, primary first. */
  readonly languages: readonly string[];
  /** As given by the service, in lower case: `female`, `male` and others. */
  readonly gender?: string;
  /** The service's description. */
  readonly description?: string;
  /** Its speaking styles, if the service lists them. */
  readonly styles?: readonly string[];
  /** The models it belongs to, if the service lists them. */
  readonly models?: readonly string[];
  /** URL of a sample recording. */
  readonly previewUrl?: string;
}
