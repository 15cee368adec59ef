/** A type whose fields can be assigned: for a value that is put together field by field, before anyone reads it. */
export type Writable<T> = { -readonly [K in keyof T]: T[K] };
