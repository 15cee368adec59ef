import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { encodeText } from './modem.ts';
import { writeSamples } from './pcm.ts';
import { idFields, mediaHandshake, sampleRates, signalingHandshake, webhookOf } from './meeting-products.ts';
import type { MeetingProduct, MeetingWebhook } from './meeting-products.ts';
import { hasOnly, parsed } from './phone-line.ts';
import { isObject, member } from './validate.ts';

/** Settings of a {@link Meeting}. */
export interface MeetingOptions {
  /** The app that may listen. Default: `sandbox-client`. */
  readonly clientId?: string;
  /** Default: `sandbox-key`. */
  readonly clientSecret?: string;
  /** How fast the meeting's clock runs, as a multiple of real time; `manual` moves it by `advance()` alone. Default: 1. */
  readonly speed?: number | 'manual';
  /** Milliseconds of the meeting's clock between two keep-alives. Default: the platform's, 10,000. */
  readonly keepAliveMs?: number;
  /** What it is: a meeting, a webinar, a session of a Video SDK app or a call of a contact center. Default: `meeting`. */
  readonly product?: MeetingProduct;
  /** The secret token of the app's event subscriptions. Default: `sandbox-token`. */
  readonly secretToken?: string;
  /** Whether the app has the scope for transcripts. Default: true. */
  readonly hasTranscript?: boolean;
}

/** Something that the meeting has sent or received. */
export interface MeetingMessage {
  readonly socket: MeetingSocket;
  readonly from: 'client' | 'meeting';
  readonly message: Readonly<Record<string, unknown>>;
}

/** The platform's sockets: one for signaling, and one for each kind of media. */
export type MeetingSocket = 'signaling' | 'media' | 'transcript';

interface Participant {
  readonly name: string;
  speech: Int16Array;
  /** Samples that were queued, and sent, since the beginning. */
  queued: number;
  sent: number;
  /** What is being said: the words, and the samples between which they sound. */
  readonly sentences: { readonly words: string; readonly from: number; readonly to: number; beganMs?: number }[];
}

/**
 * A meeting on Zoom's RTMS wire (MeetingInputD): the platform is the server of both sockets. Strict: what it would not
 * take is refused with its status, and stands in `warnings`.
 *
 * The meeting has a clock of its own, on which its participants speak.
 */
export class Meeting {
  readonly meetingUuid: string = `${randomBytes(15).toString('base64')}/+==`;
  readonly rtmsStreamId: string = randomBytes(16).toString('hex');
  /** What a correct client would not have sent, or not have left out. */
  readonly warnings: string[] = [];
  readonly messages: MeetingMessage[] = [];
  readonly #options: Required<MeetingOptions>;
  readonly #server: Server = createServer();
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #open = new Map<MeetingSocket, WebSocket>();
  readonly #participants = new Map<number, Participant>();
  readonly #waiters = new Set<() => void>();
  readonly #asked = new Map<MeetingSocket, number>();
  #audio = { sampleRate: 16000, isMixed: true, sendMs: 20 };
  #isSending = false;
  #isTranscribing = false;
  #nowMs = 0;
  #askedMs = 0;
  #clock: ReturnType<typeof setInterval> | undefined;
  /** The status with which the next handshakes are refused. */
  refuseWith: { readonly msgType: 2 | 4; readonly status: number; readonly times: number } | undefined;

  private constructor(options: MeetingOptions) {
    this.#options = {
      clientId: 'sandbox-client',
      clientSecret: 'sandbox-key',
      speed: 1,
      keepAliveMs: 10_000,
      product: 'meeting',
      secretToken: 'sandbox-token',
      hasTranscript: true,
      ...options,
    };
    this.#server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => socket.destroy());
      const kind = (['signaling', 'media', 'transcript'] as const).find((each) => request.url === `/${each}`);
      if (!kind) socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\n');
      else this.#sockets.handleUpgrade(request, socket, head, (accepted) => this.#accept(kind, accepted));
    });
  }

  /** Opens a meeting on this machine. */
  static async open(options: MeetingOptions = {}): Promise<Meeting> {
    const meeting = new Meeting(options);
    meeting.#server.listen(0, '127.0.0.1');
    await once(meeting.#server, 'listening');
    return meeting;
  }

  /** What a meeting's webhook says, for `connect()`. */
  get target(): { meetingUuid: string; rtmsStreamId: string; serverUrl: string } {
    return { meetingUuid: this.meetingUuid, rtmsStreamId: this.rtmsStreamId, serverUrl: `${this.#address}/signaling` };
  }

  /** The webhook with which the platform tells the app of this stream, or of its end. */
  webhook(what: 'rtms_started' | 'rtms_stopped' = 'rtms_started'): MeetingWebhook {
    const { product, secretToken } = this.#options;
    const stream = { [idFields[product]]: this.meetingUuid, rtms_stream_id: this.rtmsStreamId };
    const more = what === 'rtms_started' ? { server_urls: `${this.#address}/signaling` } : { stop_reason: 6 };
    return webhookOf(product, what, { ...stream, ...more }, secretToken);
  }

  /** Whether the transcript may be sent. */
  get isTranscribing(): boolean {
    return this.#isTranscribing;
  }

  /** Whether audio may be sent: both sockets are there, and the client is ready. */
  get isSending(): boolean {
    return this.#isSending;
  }

  /** Milliseconds of the meeting's clock. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Whether somebody has something left to say. */
  get isSpeaking(): boolean {
    return [...this.#participants.values()].some(({ speech }) => speech.length > 0);
  }

  /** Lets a participant say something, after what that one was saying. */
  say(userId: number, name: string, words: string): void {
    const from = this.#participants.get(userId)?.queued ?? 0;
    const { queued: to, sentences } = this.#queue(userId, name, encodeText(words, this.#audio.sampleRate));
    sentences.push({ words, from, to });
  }

  /** Lets a participant make a sound. */
  play(userId: number, name: string, samples: Int16Array): void {
    this.#queue(userId, name, samples);
  }

  #queue(userId: number, name: string, samples: Int16Array): Participant {
    const participant = this.#participants.get(userId) ?? {
      ...{ name, speech: new Int16Array(0), queued: 0, sent: 0, sentences: [] },
    };
    this.#participants.set(userId, participant);
    const speech = new Int16Array(participant.speech.length + samples.length);
    speech.set(participant.speech);
    speech.set(samples, participant.speech.length);
    participant.speech = speech;
    participant.queued += samples.length;
    return participant;
  }

  /** Tells of the stream: 1 active, 2 interrupted, 4 terminated, 5 paused, 6 resumed. */
  state(state: number, reason: number = 0): void {
    this.send('signaling', { msg_type: 8, state, reason, timestamp: this.#stamp });
    if (state === 4) this.#isSending = false;
  }

  /** Tells of the session: 2 started, 5 stopped. */
  session(state: number, stop_reason: number = 0): void {
    this.send('signaling', { msg_type: 9, state, stop_reason, timestamp: this.#stamp, rtms_session_id: 's' });
  }

  /** Tells of something: 2 active speaker, 7 media connection interrupted. */
  event(event_type: number, more: object = {}): void {
    this.send('signaling', { msg_type: 6, event: { event_type, timestamp: this.#stamp, ...more } });
  }

  /** Cuts a socket, as a lost network does. */
  drop(kind: MeetingSocket): void {
    this.#open.get(kind)?.terminate();
  }

  /** Sends something that the platform would not. */
  raw(kind: MeetingSocket, data: string | Uint8Array): void {
    this.#open.get(kind)?.send(data);
  }

  send(kind: MeetingSocket, message: Readonly<Record<string, unknown>>): void {
    const socket = this.#open.get(kind);
    if (socket?.readyState !== socket?.OPEN) return;
    this.messages.push({ socket: kind, from: 'meeting', message });
    socket?.send(JSON.stringify(message));
  }

  /** Messages of the client with a type. */
  received(msgType: number): MeetingMessage[] {
    return this.messages.filter(({ from, message }) => from === 'client' && message['msg_type'] === msgType);
  }

  /** Moves the meeting's clock: says and asks what is due. */
  advance(ms: number): void {
    const { sendMs } = this.#audio;
    for (let left = ms; left >= sendMs; left -= sendMs) {
      this.#nowMs += sendMs;
      if (this.#isSending) this.#sayFrame();
      if (this.#nowMs - this.#askedMs >= this.#options.keepAliveMs) this.#keepAlive();
    }
    this.#wake();
  }

  /** Resolves when something is so, checked with each message and each tick. */
  until(condition: (meeting: this) => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!condition(this)) return;
        this.#waiters.delete(check);
        resolve();
      };
      this.#waiters.add(check);
      check();
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#clock);
    for (const client of this.#sockets.clients) client.terminate();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get #address(): string {
    return `ws://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The platform's clock: milliseconds since 1970. */
  get #stamp(): number {
    return 1_738_392_033_000 + this.#nowMs;
  }

  #accept(kind: MeetingSocket, socket: WebSocket): void {
    let greeted = false;
    socket.on('error', () => undefined);
    socket.on('close', () => {
      if (this.#open.get(kind) !== socket) return;
      this.#open.delete(kind);
      if (kind === 'transcript') this.#isTranscribing = false;
      else this.#isSending = false;
      this.#wake();
    });
    socket.on('message', (data, isBinary) => {
      const message = isBinary ? undefined : parsed((data as Buffer).toString());
      if (!isObject(message)) this.#warn(`no JSON on ${kind}`);
      else {
        this.messages.push({ socket: kind, from: 'client', message });
        if (greeted) this.#take(kind, message);
        else greeted = this.#greet(kind, socket, message);
      }
      this.#wake();
    });
  }

  /** Answers a handshake; whether it is accepted. */
  #greet(kind: MeetingSocket, socket: WebSocket, message: Readonly<Record<string, unknown>>): boolean {
    const isSignaling = kind === 'signaling';
    const answer = { msg_type: isSignaling ? 2 : 4, protocol_version: 1, sequence: 0 };
    const refuse = (status_code: number, reason: string): false => {
      this.#warn(`${kind}: ${reason}`);
      const refusal = { ...answer, status_code, reason };
      this.messages.push({ socket: kind, from: 'meeting', message: refusal });
      socket.send(JSON.stringify(refusal));
      socket.close();
      return false;
    };
    if (this.refuseWith?.msgType === answer.msg_type) {
      const { status, times } = this.refuseWith;
      this.refuseWith = times > 1 ? { ...this.refuseWith, times: times - 1 } : undefined;
      return refuse(status, 'as it was told to');
    }
    const { product, hasTranscript } = this.#options;
    const check = isSignaling
      ? signalingHandshake(product)
      : mediaHandshake(product, kind === 'media' ? 'audio' : 'transcript');
    const wrong = check(message, '');
    if (message['msg_type'] !== (isSignaling ? 1 : 3)) return refuse(1, 'not a handshake');
    if (wrong) return refuse(isSignaling ? 4 : 18, wrong);
    const ids = ['meeting_uuid', 'session_id', 'engagement_id'].flatMap((name) => message[name] ?? []);
    if (message['rtms_stream_id'] !== this.rtmsStreamId || ids.some((id) => id !== this.meetingUuid)) {
      return refuse(2, 'another stream');
    }
    if (message['signature'] !== this.#signature) return refuse(3, 'wrong signature');
    if (this.#open.has(kind)) return refuse(isSignaling ? 8 : 16, 'there is a connection already');
    this.#open.set(kind, socket);
    this.#asked.delete(kind);
    const ok = { ...answer, status_code: 0, reason: '' };
    if (isSignaling) {
      const audio = `${this.#address}/media`;
      const transcript = `${this.#address}/transcript`;
      this.send(kind, { ...ok, media_server: { server_urls: { audio, ...(hasTranscript && { transcript }) } } });
    } else if (kind === 'transcript') {
      this.send(kind, { ...ok, payload_encrypted: false, media_params: message['media_params'] });
    } else {
      const audio = member(message['media_params'], 'audio');
      this.#audio = {
        sampleRate: sampleRates[Number(member(audio, 'sample_rate'))] ?? 16000,
        isMixed: member(audio, 'data_opt') === 1,
        sendMs: Number(member(audio, 'send_rate')),
      };
      this.send(kind, { ...ok, payload_encrypted: false, media_params: message['media_params'] });
    }
    return true;
  }

  #take(kind: MeetingSocket, message: Readonly<Record<string, unknown>>): void {
    const isOurs = message['rtms_stream_id'] === this.rtmsStreamId;
    switch (kind !== 'signaling' && message['msg_type'] !== 13 ? 0 : message['msg_type']) {
      case 5:
        return;
      case 7:
        if (!isOurs || !hasOnly(message, 'msg_type', 'rtms_stream_id')) this.#warn('a bad 7');
        else if (!this.#open.has('media') && !this.#open.has('transcript')) this.#warn('7 before a media socket');
        else this.#begin();
        return;
      case 13:
        if (message['timestamp'] !== this.#asked.get(kind))
          this.#warn(`a keep-alive on ${kind} that was not asked for`);
        this.#asked.delete(kind);
        return;
      case 21:
        if (!isOurs) this.#warn('a bad 21');
        this.send('signaling', { msg_type: 22, rtms_stream_id: this.rtmsStreamId, status_code: 0, reason: 'OK' });
        this.#isSending = false;
        return;
      default:
        this.#warn(`an unexpected message ${String(message['msg_type'])} on ${kind}`);
    }
  }

  /** The client is ready for what has a socket. */
  #begin(): void {
    if (this.#open.has('transcript') && !this.#isTranscribing) {
      this.#isTranscribing = true;
      this.event(1, { media_type: 8 });
    }
    if (!this.#open.has('media') || this.#isSending) return;
    this.#isSending = true;
    this.event(1, { media_type: 1 });
    this.state(1);
    const { speed } = this.#options;
    if (speed === 'manual' || this.#clock) return;
    const began = performance.now() - this.#nowMs / speed;
    this.#clock = setInterval(
      () => this.advance((performance.now() - began) * speed - this.#nowMs),
      Math.max(1, this.#audio.sendMs / speed),
    );
  }

  /** A muted participant sends nothing, and so does a meeting where all are. */
  #sayFrame(): void {
    const { sampleRate, isMixed, sendMs } = this.#audio;
    const length = (sampleRate * sendMs) / 1000;
    const mix = new Int16Array(length);
    let isSilent = true;
    for (const [userId, participant] of this.#participants) {
      if (participant.speech.length === 0) continue;
      isSilent = false;
      const frame = new Int16Array(length);
      frame.set(participant.speech.subarray(0, length));
      participant.speech = participant.speech.subarray(length);
      this.#transcribe(userId, participant, length);
      if (!isMixed) this.#sendAudio(frame, this.#speaker(userId, participant));
      else for (let at = 0; at < length; at++) mix[at] = (mix[at] ?? 0) + (frame[at] ?? 0);
    }
    if (isMixed && !isSilent) this.#sendAudio(mix, this.#options.product === 'engagement' ? {} : { user_id: 0 });
  }

  /** Of an engagement, only the channel is known. */
  #speaker(userId: number, { name }: Participant): object {
    return this.#options.product === 'engagement'
      ? { channel_id: `channel-${userId}` }
      : { user_id: userId, user_name: name };
  }

  /** Sends what a participant has just finished saying. */
  #transcribe(userId: number, participant: Participant, samples: number): void {
    participant.sent += samples;
    const [sentence] = participant.sentences;
    if (!sentence || sentence.from >= participant.sent) return;
    sentence.beganMs ??= this.#stamp - this.#audio.sendMs;
    if (sentence.to > participant.sent) return;
    participant.sentences.shift();
    if (!this.#isTranscribing) return;
    const times = { start_time: sentence.beganMs, end_time: this.#stamp, timestamp: this.#stamp };
    const content = { ...this.#speaker(userId, participant), ...times, language: 9, data: sentence.words };
    this.send('transcript', { msg_type: 17, content });
  }

  #sendAudio(samples: Int16Array, speaker: object): void {
    const bytes = writeSamples(samples, 'linear16');
    const data = Buffer.from(bytes).toString('base64');
    this.send('media', { msg_type: 14, content: { ...speaker, data, length: bytes.length, timestamp: this.#stamp } });
  }

  #keepAlive(): void {
    this.#askedMs = this.#nowMs;
    for (const kind of this.#open.keys()) {
      if (this.#asked.has(kind)) this.#warn(`a keep-alive on ${kind} was not answered`);
      this.#asked.set(kind, this.#stamp);
      this.send(kind, { msg_type: 12, timestamp: this.#stamp });
    }
  }

  get #signature(): string {
    const { clientId, clientSecret } = this.#options;
    return createHmac('sha256', clientSecret)
      .update(`${clientId},${this.meetingUuid},${this.rtmsStreamId}`)
      .digest('hex');
  }

  #warn(what: string): void {
    this.warnings.push(what);
  }

  #wake(): void {
    for (const check of [...this.#waiters]) check();
  }
}
