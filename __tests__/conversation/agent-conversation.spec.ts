import { Subject, tap, throwError } from 'rxjs';
import { TestScheduler } from 'rxjs/testing';
import {
  agentConversation,
  History,
  type AudioChunk,
  type SpeechEvent,
  type TranscriptionResult,
  type TTSProvider,
  VoiceError,
  type VoiceEvent,
} from 'rxvoice';
import { FakeOutput, FakeSTT, textAudioFormat, textToAudio } from 'rxvoice/testing';
import type { Command, SayOptions, SendOptions } from '../../lib/conversation/commands.ts';
import { SpeechTicket } from '../../lib/conversation/commands.ts';
import { ofType, timeline } from '../pipeline/support/timeline.ts';

type Act = (agent: ScriptedAgent, commands$: Subject<Command>) => void;

/** An agent whose service the test plays. */
class ScriptedAgent {
  readonly name = 'ScriptedAgent';
  readonly transcripts$ = new Subject<TranscriptionResult>();
  readonly speech$ = new Subject<SpeechEvent>();
  readonly tokens$ = new Subject<string>();
  readonly audio$ = new Subject<AudioChunk>();
  readonly audioDone$ = new Subject<void>();
  readonly latency$ = new Subject<never>();
  readonly unanswered$ = new Subject<VoiceError>();
  readonly injected: string[] = [];

  readonly asked: string[] = [];

  interrupt(): void {
    this.asked.push('interrupt');
  }

  startTurn(): void {
    this.asked.push('start');
    this.speech$.next({ type: 'started' });
  }

  endTurn(): void {
    this.asked.push('end');
    this.speech$.next({ type: 'ended' });
  }

  cancelTurn(): void {
    throw new Error('it detects turns itself');
  }

  injectUserMessage(text: string): void {
    this.injected.push(`user ${text}`);
  }

  injectAgentMessage(text: string): void {
    this.injected.push(`agent ${text}`);
  }

  /** A whole reply at once, as the service sends it. */
  reply(text: string): void {
    this.tokens$.next(text);
    this.audio$.next({ data: textToAudio(text), metadata: textAudioFormat, utteranceId: text });
    this.audioDone$.next();
  }
}

function run(
  acts: Readonly<Record<number, Act>>,
  untilMs = 10_000,
): { events: VoiceEvent[]; history: History; agent: ScriptedAgent } {
  const scheduler = new TestScheduler(() => undefined);
  return scheduler.run(({ flush }) => {
    const [agent, history, commands$] = [new ScriptedAgent(), new History(), new Subject<Command>()];
    const events: VoiceEvent[] = [];
    const output = new FakeOutput({ scheduler });
    const running = agentConversation({ agent, output, commands$ }, { history, scheduler })
      .pipe(tap((event) => events.push(event)))
      .subscribe();
    for (const [at, act] of Object.entries(acts)) {
      scheduler.schedule(() => {
        act(agent, commands$);
      }, Number(at));
    }
    scheduler.schedule(() => {
      running.unsubscribe();
    }, untilMs);
    flush();
    return { events, history, agent };
  });
}

const told = ['turn.started', 'turn.committed', 'speech.started', 'speech.ended', 'turn.ended', 'agent.state'] as const;

const spoken = { type: 'say', options: {}, source: 'say' } as const;

describe('a conversation with an agent', () => {
  it('plays its replies, and remembers both sides', () => {
    const { events, history } = run({
      100: (agent) => agent.transcripts$.next(FakeSTT.result('hello', 'final')),
      300: (agent) => {
        agent.reply('Good day.');
      },
    });
    expect(timeline(events, ...told)).toEqual([
      '0 agent.state listening',
      '100 turn.started',
      '100 turn.committed hello',
      '100 agent.state thinking',
      '300 speech.started',
      '300 agent.state speaking',
      '750 speech.ended Good day.',
      '750 turn.ended completed',
      '750 agent.state listening',
    ]);
    expect(history.messages()).toEqual([
      { role: 'user', content: 'hello' },
      { role: 'assistant', content: 'Good day.' },
    ]);
  });

  it('tells the service that a reply is no longer wanted, before any of it has come', () => {
    const { events, agent } = run({
      100: (scripted) => scripted.transcripts$.next(FakeSTT.result('hello', 'final')),
      200: (_, commands$) => commands$.next({ type: 'interrupt' }),
    });
    expect(agent.asked).toEqual(['interrupt']);
    expect(timeline(events, ...told)).toEqual([
      '0 agent.state listening',
      '100 turn.started',
      '100 turn.committed hello',
      '100 agent.state thinking',
      '200 agent.state listening',
      '200 turn.ended interrupted',
    ]);
  });

  it('leaves push-to-talk to a service that takes turns by hand, and tells what it refuses', () => {
    const { events, agent } = run({
      100: (_, commands$) => commands$.next({ type: 'begin' }),
      900: (scripted, commands$) => {
        commands$.next({ type: 'commit' });
        scripted.transcripts$.next(FakeSTT.result('hello', 'final'));
      },
      1_000: (scripted) => scripted.reply('Good day.'),
      1_200: (_, commands$) => commands$.next({ type: 'begin' }),
      1_300: (_, commands$) => commands$.next({ type: 'cancel' }),
    });
    expect(agent.asked).toEqual(['start', 'end', 'start']);
    expect(timeline(events, 'turn.started', 'turn.committed', 'speech.started', 'turn.ended')).toEqual([
      '900 turn.started',
      '900 turn.committed hello',
      '1000 speech.started',
      '1200 turn.ended interrupted',
    ]);
    expect(ofType(events, 'error').map(({ message }) => message)).toEqual(['ScriptedAgent: it detects turns itself']);
  });

  it('refuses images, which no agent takes', () => {
    const ticket = new SpeechTicket();
    const options = { images: [{ url: 'https://example.com/a.jpg' }] };
    const { events, agent } = run({
      100: (_, commands$) => commands$.next({ type: 'send', text: 'What is this?', options, ticket }),
    });
    expect(agent.injected).toEqual([]);
    expect(ofType(events, 'error').map(({ message }) => message)).toEqual([
      'ScriptedAgent takes no images: send them to a model',
    ]);
  });

  it.each<readonly [string, Partial<SayOptions & SendOptions>, string]>([
    ['say', { store: false }, 'store of say()'],
    ['say', { interruptible: false, priority: 'high' }, 'interruptible and priority of say()'],
    ['say', { tts: { name: 'Other' } as TTSProvider }, 'tts of say()'],
    ['send', { interrupt: false }, 'interrupt of send()'],
    ['send', { answer: { maxTokens: 5 } }, 'answer of send()'],
  ])('refuses options of %s() that its service does not heed: %o', async (type, options, named) => {
    const ticket = new SpeechTicket();
    const texts = { text: 'hello', text$: ['hello'], source: 'say' } as const;
    const command = { type, ...texts, options, ticket } as Command;
    const { events, agent } = run({ 100: (_, commands$) => commands$.next(command) });
    expect(agent.injected).toEqual([]);
    expect(ofType(events, 'error')).toMatchObject([
      { code: 'configuration', provider: 'ScriptedAgent', message: `ScriptedAgent has no ${named}: leave it out` },
    ]);
    expect(await ticket.done).toEqual({ heardText: '', interrupted: true });
  });

  it('takes the options that say what happens anyway', () => {
    const { events, agent } = run({
      100: (_, commands$) => {
        const options = { store: true, interruptible: true, priority: 'normal' } as const;
        commands$.next({ type: 'say', text$: ['One.'], options, source: 'say', ticket: new SpeechTicket() });
        const ticket = new SpeechTicket();
        commands$.next({ type: 'send', text: 'two', options: { interrupt: true, images: [] }, ticket });
      },
    });
    expect(agent.injected).toEqual(['agent One.', 'user two']);
    expect(ofType(events, 'error')).toEqual([]);
  });

  it('plays a greeting that nobody asked for', () => {
    const { history } = run({
      100: (agent) => {
        agent.reply('Welcome!');
      },
    });
    expect(history.messages()).toEqual([{ role: 'assistant', content: 'Welcome!' }]);
  });

  it('falls silent the moment the user speaks, and remembers what was heard', () => {
    const { events, history } = run({
      100: (agent) => agent.transcripts$.next(FakeSTT.result('hello', 'final')),
      300: (agent) => {
        agent.reply('One two three four five six.');
      },
      900: (agent) => agent.speech$.next({ type: 'started' }),
      1_200: (agent) => agent.transcripts$.next(FakeSTT.result('stop', 'final')),
      1_400: (agent) => {
        agent.reply('Fine.');
      },
    });
    expect(timeline(events, 'speech.ended', 'turn.ended')).toEqual([
      '900 speech.ended One two',
      '900 turn.ended interrupted',
      '1650 speech.ended Fine.',
      '1650 turn.ended completed',
    ]);
    expect(history.messages().map(({ content }) => content)).toEqual(['hello', 'One two', 'stop', 'Fine.']);
  });

  it('passes on what the application says and sends', () => {
    const ticket = new SpeechTicket();
    const { agent } = run({
      100: (_, commands$) => commands$.next({ type: 'send', text: 'typed', options: {}, ticket }),
      200: (_, commands$) =>
        commands$.next({ type: 'say', text$: ['By ', 'the way.'], options: {}, source: 'say', ticket }),
    });
    expect(agent.injected).toEqual(['user typed', 'agent By the way.']);
  });

  it('refuses a text without end, which an agent can only be given whole', async () => {
    const ticket = new SpeechTicket();
    const text$ = (function* () {
      for (let count = 0; count < 1_000_000; count++) yield 'word '.repeat(100);
    })();
    const { agent, events } = run({
      100: (_, commands$) => commands$.next({ ...spoken, text$, ticket }),
    });
    expect(await ticket.done).toEqual({ heardText: '', interrupted: true });
    expect(ofType(events, 'error').map(({ message }) => message)).toEqual([
      'ScriptedAgent: the text given to say() has more than 100000 characters',
    ]);
    expect(agent.injected).toEqual([]);
  });

  it('says nothing of blank text', async () => {
    const ticket = new SpeechTicket();
    const { agent } = run({
      100: (_, commands$) => commands$.next({ ...spoken, text$: ['', ' '], ticket }),
    });
    expect(await ticket.done).toEqual({ heardText: '', interrupted: false });
    expect(agent.injected).toEqual([]);
  });

  it('tells what the agent does not take, and what fails, and continues', async () => {
    const [refused, failed] = [new SpeechTicket(), new SpeechTicket()];
    const { agent, events } = run({
      100: (each, commands$) => {
        each.injectUserMessage = (): never => {
          throw new Error('no session');
        };
        commands$.next({ type: 'send', text: 'typed', options: {}, ticket: refused });
        const text$ = throwError(() => new Error('no text'));
        commands$.next({ ...spoken, text$, ticket: failed });
      },
      200: (_, commands$) => commands$.next({ ...spoken, text$: ['Still here.'], ticket: new SpeechTicket() }),
      300: (each) => each.audio$.error(new Error('no audio')),
    });
    for (const ticket of [refused, failed]) expect(await ticket.done).toEqual({ heardText: '', interrupted: true });
    expect(agent.injected).toEqual(['agent Still here.']);
    expect(ofType(events, 'error').map(({ message, provider }) => [message, provider])).toEqual([
      ['ScriptedAgent: no session', 'ScriptedAgent'],
      ['ScriptedAgent: no text', 'ScriptedAgent'],
      ['ScriptedAgent: no audio', 'ScriptedAgent'],
    ]);
  });

  it.each([
    ['unauthorized', 'it refused the key (401)', 'mend that, then stop() and start() the pipeline', false],
    ['connection', 'it hung up (1006)', 'try again once it is connected', true],
  ] as const)('that cannot be passed on says why, and what to do: %s', (code, why, advice, recoverable) => {
    const cause = new VoiceError(`ScriptedAgent: ${why}`, { code });
    const { events } = run({
      0: (each) => {
        const fail = (): never => {
          throw new VoiceError('ScriptedAgent.inject() needs a session', { code: 'not_ready', cause });
        };
        Object.assign(each, { injectUserMessage: fail, injectAgentMessage: fail });
      },
      100: (_, commands$) => commands$.next({ type: 'send', text: 'typed', options: {}, ticket: new SpeechTicket() }),
      200: (_, commands$) => commands$.next({ ...spoken, text$: ['Hello.'], ticket: new SpeechTicket() }),
    });
    expect(ofType(events, 'error').map((error) => [error.message, error.recoverable])).toEqual(
      ['send()', 'say()'].map((method) => [
        `ScriptedAgent: ${method} has reached nobody, as the session has ended (${why}): ${advice}`,
        recoverable,
      ]),
    );
  });

  it.each([
    ['that the service has heard', true],
    ['that was lost on its way', false],
  ])('gives up after 30 s on a reply to something %s, and continues', async (_, isHeard) => {
    const [lost, later] = [new SpeechTicket(), new SpeechTicket()];
    const { events } = run(
      {
        100: (agent, commands$) => {
          commands$.next({ type: 'send', text: 'typed', options: {}, ticket: lost });
          if (isHeard) agent.transcripts$.next(FakeSTT.result('typed', 'final'));
        },
        31_000: (_, commands$) => commands$.next({ ...spoken, text$: ['Still here.'], ticket: later }),
        31_100: (agent) => {
          agent.reply('Still here.');
        },
      },
      40_000,
    );
    const [error, ...others] = ofType(events, 'error');
    expect(error).toMatchObject({ at: 30_100, message: 'ScriptedAgent: no reply came within 30 seconds' });
    expect(others).toEqual([]);
    expect(await Promise.all([lost.done, later.done])).toEqual([
      { heardText: '', interrupted: true },
      { heardText: 'Still here.', interrupted: false },
    ]);
  });

  it.each([
    ['spoken', true],
    ['typed', false],
  ])('ends at once what was %s when a lost connection leaves it without a reply', async (_, isSpoken) => {
    const [lost, later] = [new SpeechTicket(), new SpeechTicket()];
    const message = 'ScriptedAgent: the connection was lost while find ran';
    const { events } = run({
      100: (agent, commands$) => {
        if (isSpoken) agent.transcripts$.next(FakeSTT.result('hello', 'final'));
        else commands$.next({ type: 'send', text: 'typed', options: {}, ticket: lost });
      },
      500: (agent) => agent.unanswered$.next(new VoiceError(message, { code: 'connection', recoverable: true })),
      600: (_agent, commands$) => commands$.next({ ...spoken, text$: ['Still here.'], ticket: later }),
      700: (agent) => agent.reply('Still here.'),
    });
    expect(ofType(events, 'error').map((error) => [error.at, error.message])).toEqual([[500, message]]);
    if (isSpoken) expect(timeline(events, 'turn.ended')[0]).toBe('500 turn.ended error');
    else expect(await lost.done).toEqual({ heardText: '', interrupted: true });
    expect(await later.done).toEqual({ heardText: 'Still here.', interrupted: false });
  });

  it('goes on with a reply that has begun when a lost connection leaves something without one', () => {
    const { events } = run({
      100: (agent) => agent.transcripts$.next(FakeSTT.result('hello', 'final')),
      200: (agent) => agent.reply('One two three.'),
      300: (agent) => agent.unanswered$.next(new VoiceError('lost', { code: 'connection' })),
    });
    expect([ofType(events, 'error'), ofType(events, 'speech.ended').map(({ heardText }) => heardText)]).toEqual([
      [],
      ['One two three.'],
    ]);
  });

  it('tells how the reply to what the application sent came out', async () => {
    const [heard, cut, unanswered] = [new SpeechTicket(), new SpeechTicket(), new SpeechTicket()];
    const send = (ticket: SpeechTicket): Act => {
      return (_, commands$) => commands$.next({ type: 'send', text: 'typed', options: {}, ticket });
    };
    run({
      100: send(heard),
      300: (agent) => {
        agent.reply('Fine.');
      },
      1_000: send(cut),
      1_300: (agent) => {
        agent.reply('One two three four five six.');
      },
      1_900: () => {
        cut.interrupt();
      },
      3_000: send(unanswered),
    });
    expect(await Promise.all([heard.done, cut.done, unanswered.done])).toEqual([
      { heardText: 'Fine.', interrupted: false },
      { heardText: 'One two', interrupted: true },
      { heardText: '', interrupted: true },
    ]);
  });

  it('ends its turn when it is stopped', () => {
    const { events } = run({
      100: (agent) => agent.transcripts$.next(FakeSTT.result('hello', 'final')),
      200: (_, commands$) => commands$.next({ type: 'stop' }),
    });
    expect(timeline(events, 'turn.ended', 'turn.metrics')).toEqual(['200 turn.ended stopped', '200 turn.metrics']);
  });
});
