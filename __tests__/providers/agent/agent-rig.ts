/** An agent on a clock and a service of the test's, with all that it says kept. */
import type { AudioChunk, AudioMetadata } from '../../../lib/audio/types.ts';
import type { VoiceError } from '../../../lib/core/errors.ts';
import type { TokenUsage } from '../../../lib/core/messages.ts';
import type { AgentFunctionCall, AgentText } from '../../../lib/core/roles.ts';
import type { AgentConfig } from '../../../lib/providers/agent/agent-wire.ts';
import type { StreamingAgent } from '../../../lib/providers/agent/streaming-agent.ts';
import type { ReconnectingSocketOptions } from '../../../lib/transport/reconnecting-socket.ts';
import { FakeSockets } from '../../transport/fake-sockets.ts';
import { settle, TestClock } from '../../transport/test-clock.ts';

export type Json = Record<string, unknown>;

/** A service that is the test's. */
export interface Faked {
  readonly sockets: FakeSockets;
  /** Whether the service plays its part in a closing handshake. Default: true. */
  isPolite: boolean;
}

/** What all agents have, whatever their wire's state. */
type AnyAgent = Pick<
  StreamingAgent<AgentConfig, never>,
  | ('initialize' | 'connect' | 'dispose' | 'errors$')
  | ('speech$' | 'transcripts$' | 'tokens$' | 'conversation$' | 'audio$' | 'audioDone$')
  | ('functionCalls$' | 'latency$' | 'usage$' | 'metadata$')
>;

type AgentClass<C, A> = new (config: C) => A;

/** The provider, with a service that is the test's. */
function faked<C, A>(Agent: AgentClass<C, A>): AgentClass<C, A & Faked> {
  const Base = Agent as unknown as new (config: C) => {
    dispose(): Promise<void>;
    sessionOptions(): Partial<ReconnectingSocketOptions>;
  };
  class FakedAgent extends Base implements Faked {
    readonly sockets: FakeSockets = new FakeSockets();
    isPolite: boolean = true;

    override async dispose(): Promise<void> {
      const gone = super.dispose();
      await settle();
      if (this.isPolite) for (const socket of this.sockets.all) socket.drop(1000);
      await gone;
    }

    override sessionOptions(): Partial<ReconnectingSocketOptions> {
      return { ...super.sessionOptions(), openSocket: this.sockets.open };
    }
  }
  return FakedAgent as unknown as AgentClass<C, A & Faked>;
}

/** What an agent says, kept. */
export interface AgentRig<A> {
  readonly clock: TestClock;
  readonly agent: A & Faked;
  /** Voices, words, replies and calls, in order, a line each. */
  readonly log: string[];
  readonly audio: AudioChunk[];
  /** The formats of the agent's audio. */
  readonly formats: AudioMetadata[];
  readonly errors: VoiceError[];
  readonly conversation: AgentText[];
  readonly usage: TokenUsage[];
  readonly latencies: Json[];
  readonly calls: AgentFunctionCall[];
  /** Messages of the service, on the latest connection. */
  readonly say: (...messages: Json[]) => void;
  /** What the agent sent on the latest connection. */
  readonly sent: () => Json[];
}

/** A connected agent. */
export interface LiveRig<A> extends AgentRig<A> {
  /** Accepts the latest connection, and says that the service is ready. */
  readonly accept: () => void;
  /** As `sent`, without what the first connection was opened with. */
  readonly since: () => Json[];
}

/** An agent that is not connected. */
export function agentRig<C extends AgentConfig, A extends AnyAgent>(Agent: AgentClass<C, A>, config: C): AgentRig<A> {
  const clock = new TestClock();
  const FakedAgent = faked(Agent);
  const agent = new FakedAgent({
    ...{ apiKey: 'canary-7f3a', scheduler: clock, reconnect: { jitter: 'none' } },
    ...config,
  });
  const log: string[] = [];
  const audio: AudioChunk[] = [];
  const formats: AudioMetadata[] = [];
  const errors: VoiceError[] = [];
  const conversation: AgentText[] = [];
  const usage: TokenUsage[] = [];
  const latencies: Json[] = [];
  const calls: AgentFunctionCall[] = [];
  agent.speech$.subscribe(({ type }) => log.push(type));
  agent.transcripts$.subscribe(({ text, isFinal }) => log.push(`${isFinal ? 'user' : 'interim'}: ${text}`));
  agent.tokens$.subscribe((text) => log.push(`agent: ${text}`));
  agent.audioDone$.subscribe(() => log.push('done'));
  agent.functionCalls$.subscribe((call) => {
    log.push(`call ${call.name}`);
    calls.push(call);
  });
  agent.audio$.subscribe((chunk) => audio.push(chunk));
  agent.metadata$.subscribe((metadata) => formats.push(metadata));
  agent.errors$.subscribe((error) => errors.push(error));
  agent.conversation$.subscribe((text) => conversation.push(text));
  agent.usage$.subscribe((tokens) => usage.push(tokens));
  agent.latency$.subscribe((latency) => latencies.push({ ...latency }));
  const sent = (): Json[] => agent.sockets.last.texts.map((text) => JSON.parse(text) as Json);
  const say = (...messages: Json[]): void => {
    for (const message of messages) agent.sockets.last.say(message);
  };
  return { clock, agent, log, audio, formats, errors, conversation, usage, latencies, calls, say, sent };
}

/** An agent whose service is ready, as its messages `ready` tell. */
export async function liveRig<C extends AgentConfig, A extends AnyAgent>(
  Agent: AgentClass<C, A>,
  config: C,
  ready: readonly Json[],
): Promise<LiveRig<A>> {
  const rig = agentRig(Agent, config);
  const { agent, say, sent } = rig;
  const accept = (): void => {
    agent.sockets.last.accept();
    say(...ready);
  };
  await agent.initialize();
  const connected = agent.connect();
  await settle();
  accept();
  await connected;
  const opened = sent().length;
  return { ...rig, accept, since: () => sent().slice(opened) };
}
