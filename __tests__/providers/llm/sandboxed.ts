import {
  bodyJson,
  startSandbox,
  type Sandbox,
  type ServiceName,
  type VendorName,
} from '../../../samples/sandbox/index.ts';

/** A sandbox for the tests of one `describe`, and the models that they set up. */
export interface Sandboxed {
  sandbox(this: void): Sandbox;
  /** The configuration of a model that asks the sandbox directly. */
  direct(this: void, vendor: VendorName): { readonly apiKey: string; readonly endpoint: string };
  /** Initializes a model, which is disposed of after the test. */
  ready<P extends { initialize(): Promise<void>; dispose(): Promise<void> }>(this: void, provider: P): Promise<P>;
  /** The bodies of a service's requests, in order. */
  bodies(this: void, service: ServiceName): readonly Readonly<Record<string, unknown>>[];
}

export function sandboxed(): Sandboxed {
  let sandbox: Sandbox;
  const providers: { dispose(): Promise<void> }[] = [];
  beforeAll(async () => {
    sandbox = await startSandbox();
  });
  afterEach(async () => {
    await Promise.all(providers.splice(0).map((provider) => provider.dispose()));
    sandbox.clearFaults();
    sandbox.clearRecords();
  });
  afterAll(() => sandbox.close());
  return {
    sandbox: () => sandbox,
    direct: (vendor) => ({ apiKey: 'sandbox-key', endpoint: sandbox.endpoints[vendor] }),
    async ready(provider) {
      providers.push(provider);
      await provider.initialize();
      return provider;
    },
    bodies: (service) =>
      sandbox.records(service).map((record) => bodyJson(record) as Readonly<Record<string, unknown>>),
  };
}
