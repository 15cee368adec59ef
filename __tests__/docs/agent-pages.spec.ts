/** The pages of the agents are like the others: who comes from one service to another finds the same things at the same place. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AlphaAgent, GammaAgent, OmicronAgent, ThetaAgent } from 'rxvoice';

const docs = join(new URL('../..', import.meta.url).pathname, 'docs');
const agents = { AlphaAgent, ThetaAgent, OmicronAgent, GammaAgent };

/** What every agent has, whatever its service. */
const streams = ['transcripts$', 'speech$', 'tokens$', 'conversation$', 'functionCalls$', 'functionEnds$'];

for (const [name, Agent] of Object.entries(agents)) {
  describe(`the page of ${name}`, () => {
    const file = `providers/${name.replace('Agent', '-agent').toLowerCase()}.md`;
    const page = readFileSync(join(docs, file), 'utf8');
    const [opening = '', ...sections] = page.split(/^## /m);
    const section = (heading: string): string => sections.find((each) => each.startsWith(heading)) ?? '';

    it('begins with its service, its address and an example', () => {
      expect(opening).toMatch(new RegExp(`^# [A-Z][A-Za-z ]+: ${name}\n`));
      expect(opening).toMatch(/wss?:\/\//);
      expect(opening).toMatch(/```ts\n[^]*new Pipeline/);
    });

    it('has the sections of the others, in their order', () => {
      const headings = sections.map((each) => each.split('\n', 1)[0]);
      const common = ['Configuration', 'Operations', 'Events', 'Pitfalls'];
      expect(headings.filter((heading = '') => common.includes(heading))).toEqual(common);
    });

    it('names each of its operations and streams', () => {
      const own = Object.getOwnPropertyNames(Agent.prototype).filter(
        (member) => !member.startsWith('_') && /^(inject|start|end|send|update)[A-Z]/.test(member),
      );
      const operations = ['injectUserMessage', 'injectAgentMessage', ...own];
      expect(operations.filter((member) => !page.includes(`\`${member}(`))).toEqual([]);
      expect(streams.filter((stream) => !section('Events').includes(`\`${stream}\``))).toEqual([]);
    });

    it('is found from README', () => {
      expect(readFileSync(join(docs, '../README.md'), 'utf8')).toContain(`docs/${file}`);
    });
  });
}
