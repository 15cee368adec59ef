/** Lets fields be assigned while a value is being built, before anyone else sees it. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
