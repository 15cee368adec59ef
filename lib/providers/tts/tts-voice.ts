/** A voice of a service's catalog. */
export interface TTSVoice {
  /** What the configuration takes. */
  readonly id: string;
  /** For people. */
  readonly name: string;
  /** BCP 47 tags of what it speaks, its own first. */
  readonly languages: readonly string[];
  /** As the service says, in lower case: `female`, `male` and others. */
  readonly gender?: string;
  /** As the service describes it. */
  readonly description?: string;
  /** Its ways to speak, where the service names them. */
  readonly styles?: readonly string[];
  /** The models that it belongs to, where the service says. */
  readonly models?: readonly string[];
  /** Address of a recording. */
  readonly previewUrl?: string;
}
