import { firstValueFrom, filter } from 'rxjs';
import { AlphaAgent, Pipeline, type PipelineOptions, type PipelineUpdate, type VoiceEvent } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, textAudioFormat } from 'rxvoice/testing';
import { ofType } from './support/timeline.ts';

interface Rig {
  readonly pipeline: Pipeline;
  readonly input: FakeInput;
  readonly stt: FakeSTT;
  readonly llm: FakeLLM;
  readonly events: VoiceEvent[];
}

function rig(options: Partial<PipelineOptions> = {}): Rig {
  const input = new FakeInput();
  const stt = new FakeSTT();
  const llm = new FakeLLM({ firstTokenMs: 0, tokenMs: 0 });
  const tts = new FakeTTS({ latencyMs: 0, msPerCharacter: 1 });
  const pipeline = new Pipeline({ providers: [input, stt, llm, tts, new FakeOutput()], ...options });
  const events: VoiceEvent[] = [];
  pipeline.events$.subscribe((event) => events.push(event));
  return { pipeline, input, stt, llm, events };
}

async function turn({ pipeline, stt }: Rig, text: string): Promise<void> {
  const ended = firstValueFrom(pipeline.events$.pipe(filter(({ type }) => type === 'turn.ended')));
  stt.hearWords(FakeSTT.result(text, 'final'));
  await ended;
}

const prompts = ({ requests }: FakeLLM): (string | undefined)[] =>
  requests.map(({ messages }) => messages.find(({ role }) => role === 'system')?.content);

const voice = { data: new Uint8Array(16).fill(7), metadata: textAudioFormat };

/** Values of the wrong type, as an application without TypeScript gives them. */
const wrong: readonly (readonly [object, string])[] = [
  [{ systemPrompt: 5 }, 'systemPrompt must be a text'],
  [{ tools: {} }, 'tools must be an array of tools, each with a name and execute()'],
  [{ tools: [{ name: 'look' }] }, 'tools must be an array of tools, each with a name and execute()'],
  [{ bargeIn: 'never' }, "bargeIn must be true, false, 'immediate' or an object"],
  [{ bargeIn: { minWords: 0 } }, 'bargeIn.minWords must be a number from 1 to Infinity, not 0'],
  [{ bargeIn: { greeting: { pauseAfterMs: -1 } } }, 'bargeIn.greeting.pauseAfterMs must be a number from 0'],
  [{ bargeIn: { whileUninterruptible: 'drop' } }, 'bargeIn.whileUninterruptible must be discard or queue, not "drop"'],
  [{ bargeIn: { commands: 'stop' } }, 'bargeIn.commands must be an array of texts, or a function that changes one'],
  [{ bargeIn: { echoGuard: 1 } }, 'bargeIn.echoGuard must be true or false, not 1'],
  [{ turnTaking: 'manual' }, 'turnTaking must be an object'],
  [{ turnTaking: { sttTimeoutMs: Number.NaN } }, 'turnTaking.sttTimeoutMs must be a number from 0'],
  [{ preflight: { enabled: 'yes' } }, 'preflight.enabled must be true or false, not "yes"'],
  [{ timeouts: { idleMs: '5' } }, 'timeouts.idleMs must be a number from 0 to Infinity, not "5"'],
  [{ locale: 'not a language' }, 'locale must be a BCP 47 language such as en-US'],
];

const execute = (): string => 'done';

describe('Pipeline.update', () => {
  it.each(wrong)('refuses %j, as initialize() does, and changes nothing', async (change, message) => {
    const { pipeline, events } = rig();
    await pipeline.start();
    expect(() => pipeline.update({ systemPrompt: 'new', ...change })).toThrow(`Pipeline: ${message}`);
    expect(ofType(events, 'session.updated')).toEqual([]);
    await expect(rig(change as Partial<PipelineOptions>).pipeline.start()).rejects.toThrow(`Pipeline: ${message}`);
    await pipeline.dispose();
  });

  it('refuses two tools of one name, and what only another pipeline can have', async () => {
    const { pipeline } = rig();
    await pipeline.initialize();
    const tools = [
      { name: 'look', execute },
      { name: 'find', execute },
      { name: 'look', execute },
    ];
    expect(() => pipeline.update({ tools })).toThrow('Pipeline: tools has two tools named look');
    expect(() => pipeline.update({ providers: [], logger: console } as PipelineUpdate)).toThrow(
      /update\(\) cannot change providers, logger, only systemPrompt, .*: create another pipeline/,
    );
    await pipeline.dispose();
  });

  it('refuses what an agent would not heed', () => {
    const pipeline = new Pipeline({
      providers: [new FakeInput(), new AlphaAgent({ apiKey: 'key' }), new FakeOutput()],
    });
    expect(() => pipeline.update({ systemPrompt: 'new' })).toThrow('AlphaAgent handles systemPrompt itself');
  });

  it('refuses to change what is disposed', async () => {
    const { pipeline } = rig();
    await pipeline.dispose();
    expect(() => pipeline.update({ systemPrompt: 'new' })).toThrow('Pipeline: disposed');
  });

  it('counts before the start, while running, and in the sessions after', async () => {
    const call = rig({ systemPrompt: 'first' });
    const { pipeline, llm, events } = call;
    pipeline.update({ systemPrompt: 'second', greeting: 'Hello!' });
    await pipeline.start();
    await turn(call, 'one');
    pipeline.update({ systemPrompt: 'third', greeting: undefined });
    await turn(call, 'two');
    await pipeline.stop();
    await pipeline.start();
    await turn(call, 'three');
    expect(prompts(llm)).toEqual(['second', 'third', 'third']);
    expect(ofType(events, 'speech.created').filter(({ source }) => source === 'greeting')).toHaveLength(1);
    await pipeline.dispose();
  });

  it('switches the microphone to push-to-talk and back, and loses nothing of what follows', async () => {
    const { pipeline, input, stt } = rig();
    const heard = (): readonly number[] => stt.sent.splice(0).map(({ data }) => data[0] ?? -1);
    await pipeline.start();
    input.push(voice);
    expect(heard()).toEqual([7]);
    pipeline.update({ turnTaking: { strategy: 'manual' } });
    input.push(voice);
    expect(heard()).toEqual([0]);
    pipeline.beginTurn();
    // What was captured just before the press comes first.
    input.push(voice);
    expect(heard()).toEqual([7, 7]);
    pipeline.cancelTurn();
    input.push(voice);
    expect(heard()).toEqual([0]);
    pipeline.update({ turnTaking: undefined });
    input.push(voice);
    expect(heard()).toEqual([7]);
    await pipeline.dispose();
    input.push(voice);
    expect(heard()).toEqual([]);
  });
});
