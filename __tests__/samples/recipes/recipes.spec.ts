// Slow: calls at the speed of sound.
import { readdirSync, readFileSync } from 'node:fs';
import { Kit } from '../../../samples/recipes/kit.ts';
import { startSandbox } from '../../../samples/sandbox/index.ts';
import { hasNats } from '../../integration/support/nats.ts';

interface Recipe {
  readonly recipe: (kit: Kit) => Promise<void>;
}

/** What each recipe prints, in order, whatever comes between. */
const shows: Readonly<Record<string, readonly RegExp[]>> = {
  '01-text': [
    /^heard: Use sequel behind engine x\.$/m,
    /^written: "```ts\\nconst answer = 42;\\n```"$/m,
    /^heard: Here is some code\.$/m,
  ],
  '02-spoken-forms': [
    /^heard: The train leaves at three forty-five p m and costs forty-two dollars and fifty cents\.$/im,
    /^written: The train leaves at \*\*3:45 pm\*\* and costs \$42\.50\.$/m,
    /^heard: Der Zug f.*hrt um f.*nfzehn Uhr/im,
  ],
  '03-guardrails': [
    /^input, card: replace\nheard: my card is that number$/im,
    /^output, blocklist: cut\nheard: it is fine\. Let us stay polite\.$/im,
    /^user: Say my card is that number$/m,
  ],
  '04-captions': [
    /^screen: the$/m,
    /^screen: the line is$/m,
    /^WEBVTT\n\n1\n00:00:0\d\.\d{3} --> 00:00:0\d\.\d{3}\n<v Caller>Say the line is\nclear\n/m,
    /^2\n00:00:0\d\.\d{3} --> 00:00:0\d\.\d{3}\n<v Nova>[Tt]he line is clear\b/m,
  ],
  '04-transcript': [
    /^user: .*line is clear…$/im,
    /^user: Say the line is clear\.$/im,
    /^agent: the…$/im,
    /^agent: the line is clear\.*$/im,
    /^agent: one…$/m,
    /^agent: one two\.\nnot heard: three four five six$/m,
  ],
  '05-cached-speech': [
    /^asked: hello, one moment$/m,
    /^heard: hello\s*one moment\s*goodbye\s*$/m,
    /^asked: hello, one moment, goodbye$/m,
  ],
  '05-recorded-speech': [
    /^remembered: calls are recorded$/m,
    /^heard: calls are recorded\s*hello\s*$/m,
    /^billed: 5 characters of AlphaTTS$/m,
  ],
  '06-chat': [
    /^page: hello to the page$/m,
    /^page: .*get_time says: 12:34/m,
    /^tool: 12:34$/m,
    /^read: hello to the eye$/m,
    /^heard: hello to the ear\s*$/m,
  ],
  '07-background': [/^silence: a hum$/m, /^said: it hums/im, /^heard: .*it hums/im],
  '08-history': [
    /^kept: one two$/im,
    /^resumed: 2 items$/m,
    /^summarized$/m,
    /^user: Earlier in this conversation: /m,
    /say goodbye$/m,
    /^assistant: goodbye/im,
  ],
  '09-recording': [
    /^PIN: \*\*\*\*$/m,
    /^caller: Say it is me\nagent: .*it is me\W*PIN\?$/im,
    /^event: recording\.started$/m,
    /^event: transcript\.final$/m,
    /^event: recording\.ended$/m,
  ],
  '10-tools': [
    /^get_menu: soup, fish, cake$/m,
    /^approve reserve_table \{"city":"Paris"\}\?\nreserve_table: reserved in Paris$/m,
    /^reserve_table: Error: the call was refused: we are in Paris alone\.$/m,
    /^heard: .*we are in Paris alone/m,
  ],
  '11-ai-sdk': [
    /^local\.chat: \d+ in, \d+ out$/m,
    /^tool: sunny in Paris$/im,
    /^heard: .*get_weather says: sunny in Paris/im,
  ],
  '13-calls': [
    /^person: ringing\n/m,
    /^person: ended, busy$/m,
    /^heard: .*calling.*goodbye/m,
    /^call: ended, completed$/m,
  ],
  '20-booking': [
    /^call: answered$/m,
    /^key: 1\nheard: A table for 4 at eight\. Press 1 to confirm\. .*booked, number 1/m,
    /^call: transferring$/m,
    /^call: ended$/m,
    /^dialled: \+442071838750$/m,
  ],
  '14-voicemail': [
    /^human, by length: Hello\?$/m,
    /^heard: Hello/m,
    /^machine, by words: Leave a message after the tone\.$/m,
    /^left after: beep\nheard: Your car is ready\.\s*$/m,
    /^menu, by words: For sales, press 1\./m,
    /^pressed 2$/m,
  ],
  '18-telemetry': [
    /^voice_session\n {2}invoke_agent\n {4}chat openai\/gpt-oss-20b$/m,
    /^ {4}chat openai\/gpt-oss-20b: \d+ tokens$/m,
    /^ {4}speak$/m,
  ],
  '19-evaluation': [
    /^passed: A story is interrupted/m,
    /^ {2}passed: is cut off by interruptions, and by nothing else \(interrupted 1 times, cut off 1 times\)$/m,
    /^exit code 0: .cache\/evaluation\/report.html$/m,
  ],
  '15-sessions': [
    /^session-1 opened$/m,
    /^session-2 opened$/m,
    /^refused: full\noverloaded$/m,
    /^closed what was its own\nsession-1 closed: ended$/m,
    /^closed what was its own\nsession-2 closed: drained$/m,
    /^heard: hello$/m,
    /^left: 0, draining$/m,
  ],
  '16-many-machines': [
    /^live: call-1 on voice-3$/m,
    /^said: yes$/m,
    /^heard: hello\s*one moment\s*nobody sees this yet\s*$/m,
    /^the list is empty$/m,
  ],
  '17-remote': [
    /^link: connected$/m,
    /^link: reconnecting$/m,
    /^link: connected$/m,
    /^heard: 1, 2, 3, 4, 5\.$/m,
    /^link: closed$/m,
  ],
  '12-keys': [/^event: 2\nheard: Welcome back\.$/m],
};

describe('recipes', () => {
  const files = readdirSync('samples/recipes')
    .flatMap((file) => /^(\d.*)\.ts$/.exec(file)?.[1] ?? [])
    .sort();

  it('are all run here', () => {
    expect(files).toEqual(Object.keys(shows).sort());
  });

  // A whole call takes more.
  it.each(files.filter((file) => file !== '20-booking'))('%s is short, and written as applications are', (file) => {
    const source = readFileSync(`samples/recipes/${file}.ts`, 'utf8');
    const length = source.trimEnd().split('\n').length;
    expect(length).toBeGreaterThanOrEqual(20);
    expect(length).toBeLessThanOrEqual(60);
    const ours = [...source.matchAll(/from '(\.[^']*)'/g)].map(([, path = '']) => path);
    expect(ours.filter((path) => !/^(\.\/kit|\.\.\/sandbox\/[\w-]+|\.\.\/phone\/nats-server)\.ts$/.test(path))).toEqual(
      [],
    );
  });

  // It needs a nats-server.
  const isThere = (file: string): boolean => file !== '16-many-machines' || hasNats;

  it.each(files.filter(isThere))('%s', async (file) => {
    await using sandbox = await startSandbox();
    const lines: string[] = [];
    using kit = new Kit(sandbox, (line) => lines.push(line));
    const { recipe } = (await import(`../../../samples/recipes/${file}.ts`)) as Recipe;
    await recipe(kit);
    let rest = lines.join('\n');
    for (const pattern of shows[file] ?? []) {
      expect(rest).toMatch(pattern);
      rest = rest.slice((pattern.exec(rest)?.index ?? 0) + 1);
    }
  });
});
