import { isObservable } from 'rxjs';

/** What a provider needs to be constructed, whichever it is. */
const anyConfig = {
  ...{ apiKey: 'key', region: 'westeurope', voiceId: 'v', voiceName: 'v', model: 'm', endpoint: 'http://127.0.0.1:9' },
  ...{ sampleRate: 16_000, credentials: { accessKeyId: 'a', secretAccessKey: 'b' }, track: {}, voice: 'v' },
};

/** What takes something else than a configuration. */
const others: Readonly<Record<string, unknown>> = { Recording: new Uint8Array(2) };

/** A provider of each class among a module's exports, by the class's name. */
export function everyProvider(exported: object, config: object = {}): (readonly [name: string, provider: object])[] {
  return Object.entries(exported).flatMap(([name, value]) => {
    const provider = providerOf(value, config);
    return provider ? [[name, provider] as const] : [];
  });
}

/** A provider of a class of the library; `undefined` for a base class, which has no name. */
function providerOf(value: unknown, config: object): object | undefined {
  const isProvider = typeof value === 'function' && value.prototype instanceof Object && 'isReady' in value.prototype;
  if (!isProvider) return undefined;
  const provider: unknown = Reflect.construct(value, [others[value.name] ?? { ...anyConfig, ...config }]);
  return typeof provider === 'object' && provider && 'name' in provider ? provider : undefined;
}

/** An object's streams by name, those of its classes included. */
export function streamsOf(owner: object): Record<string, object> {
  const streams: Record<string, object> = {};
  for (let at: object | null = owner; at && at !== Object.prototype; at = Reflect.getPrototypeOf(at)) {
    for (const key of Object.getOwnPropertyNames(at)) {
      if (!/^\w+\$$/.test(key)) continue;
      const stream: unknown = Reflect.get(at, key, owner);
      if (isObservable(stream)) streams[key] = stream;
    }
  }
  return streams;
}
