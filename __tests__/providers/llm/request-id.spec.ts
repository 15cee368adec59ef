/** A vendor's support asks for one thing first: the id of the request. */
import type { Message } from '../../../lib/core/messages.ts';
import { MuLLM } from '../../../lib/providers/llm/mu-llm.ts';
import { ThetaLLM } from '../../../lib/providers/llm/theta-llm.ts';
import { outcomeOf } from './llm-fixture.ts';
import { sandboxed } from './sandboxed.ts';

const ask: Message[] = [{ role: 'user', content: 'Count to 20' }];
const models = {
  'theta-llm': ['x-request-id', 'gpt-4.1-mini'],
  'mu-llm': ['request-id', 'claude-haiku-5-5'],
} as const;

describe("the vendor's request id", () => {
  const { ready, direct, sandbox } = sandboxed();
  for (const service of ['theta-llm', 'mu-llm'] as const) {
    const create = () =>
      ready(
        service === 'mu-llm'
          ? new MuLLM({ ...direct('mu'), maxRetries: 0 })
          : new ThetaLLM({ ...direct('theta'), model: models[service][1], maxRetries: 0 }),
      );

    it(`${service}: is on the end of an answer`, async () => {
      const { events } = await outcomeOf((await create()).generate(ask));
      const last = events.at(-1);
      expect(last).toMatchObject({ type: 'done', requestId: expect.stringMatching(/^req_/) as string });
    });

    it(`${service}: is on the error of a refused request, and in its JSON`, async () => {
      const llm = await create();
      llm.updateConfig({ apiKey: 'wrong' });
      const { error } = await outcomeOf(llm.generate(ask));
      expect(error).toMatchObject({ code: 'unauthorized', status: 401 });
      expect(error?.requestId).toMatch(/^req_/);
      expect(error?.toJSON()['requestId']).toBe(error?.requestId);
    });

    it(`${service}: is on an error in the middle of an answer`, async () => {
      sandbox().setFault(service, { kind: 'error', after: 3 });
      const { error } = await outcomeOf((await create()).generate(ask));
      expect(error?.requestId).toMatch(/^req_/);
    });
  }
});
