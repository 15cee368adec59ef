/** A credential that was forgotten is told as any other option that is wrong, whichever service it is for. */
import * as library from 'rxvoice';
import { Pipeline, VoiceError, type ProviderContract, type RemoteProvider } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from 'rxvoice/testing';
import { everyProvider } from '../pipeline/support/every-provider.ts';

/** As of an environment variable that is not set; with everything else that some service needs. */
const forgotten = {
  ...{ apiKey: undefined, credentials: undefined, endpoint: undefined },
  ...{ agentId: 'a', speaker: 's', clientId: 'c', sampleRate: undefined },
};
/** An open server and a public agent need none; a page joins a meeting with a signature of the application's. */
const needsNone = ['CompatibleLLM', 'GammaAgent', 'MeetingInputE'];
/** Another vendor names its regions otherwise. */
const elsewhere = ['LambdaSTT', 'OmegaTTS'];

type Remote = RemoteProvider<object>;
const isRemote = (provider: object): provider is Remote => 'assertAuth' in provider;
const services = Object.keys(library)
  .filter((name) => !needsNone.includes(name))
  .flatMap((name) => {
    const config = elsewhere.includes(name) ? { ...forgotten, region: 'us-east-1' } : forgotten;
    return everyProvider({ [name]: Reflect.get(library, name) as unknown }, config);
  })
  .flatMap(([name, provider]) => (isRemote(provider) ? [[name, provider] as const] : []));

describe('a service without its credential', () => {
  it('is any of them', () => {
    expect(services.length).toBeGreaterThan(30);
  });

  it.each(services)('is a configuration error that says what to set: %s', async (name, provider) => {
    const error: unknown = await provider.initialize().catch((cause: unknown) => cause);
    expect(VoiceError.is(error) && error).toMatchObject({ code: 'configuration', provider: name, recoverable: false });
    expect(String(error)).toMatch(/needs a credential.*: set \w+.*proxyUrl|clientSecret is missing/);
  });

  it('is told by the pipeline as well', async () => {
    const fakes = [new FakeInput(), new FakeSTT(), new FakeLLM(), new FakeTTS(), new FakeOutput()];
    for (const [name, provider] of services) {
      // An agent has three roles.
      const others = fakes.filter((fake) => !fake.roles.some((role) => provider.roles.includes(role)));
      const providers: readonly ProviderContract[] = [...others, provider];
      await using pipeline = new Pipeline({ providers: providers });
      const error: unknown = await pipeline.start().catch((cause: unknown) => cause);
      expect(VoiceError.is(error) && error).toMatchObject({ code: 'configuration', provider: name });
    }
  });
});
