import { createVerify, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isObject } from './validate.ts';
import { parseXml, type XmlElement } from './xml.ts';

/** A call as the platform has it. */
export interface RestCall {
  readonly id: string;
  readonly to: string;
  readonly from: string;
  /** The platform's own word for its state. */
  status: string;
  /** Instructions in order: those it was placed with, then each redirection. */
  readonly instructions: unknown[];
  /** States of the recording, in order. */
  readonly recording: string[];
  /** Keys that were pressed for it. */
  readonly keys: string[];
  readonly answeredBy?: string;
  /** Other fields of the request that placed it. */
  readonly fields: Readonly<Record<string, unknown>>;
}

interface Answer {
  readonly status: number;
  readonly body?: unknown;
}

const notFound: Answer = {
  status: 404,
  body: { code: 20404, message: 'The requested resource was not found', status: 404 },
};
const refused = (why: string): Answer => ({ status: 400, body: { code: 21200, message: why, title: why } });

/**
 * The REST APIs of the phones' platforms, Twilio's and Vonage's, as far as calls go: on the paths, fields and words that
 * their documentation has, and on nothing else. What becomes of a call is the test's to say: {@link PhoneRest.become}.
 */
export class PhoneRest implements AsyncDisposable {
  readonly accountSid: string = `AC${randomBytes(16).toString('hex')}`;
  readonly authToken: string = randomBytes(16).toString('hex');
  readonly applicationId: string = randomUUID();
  readonly privateKey: string;
  readonly calls = new Map<string, RestCall>();
  readonly #publicKey: string;
  readonly #server: Server;
  readonly #tokens = new Set<string>();

  private constructor() {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    this.privateKey = privateKey;
    this.#publicKey = publicKey;
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  static async open(): Promise<PhoneRest> {
    const rest = new PhoneRest();
    rest.#server.listen(0, '127.0.0.1');
    await once(rest.#server, 'listening');
    return rest;
  }

  /** Both platforms' address. */
  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A call that the platform has connected already, such as one that came in. */
  receive(id: string, status: string): RestCall {
    return this.#add({ id, to: '', from: '', status, instructions: [], recording: [], keys: [], fields: {} });
  }

  /** Something happens to a call. */
  become(id: string, status: string): void {
    const call = this.calls.get(id);
    if (call) call.status = status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #add(call: RestCall): RestCall {
    this.calls.set(call.id, call);
    return call;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const part of request.setEncoding('utf8')) text += String(part);
    const { status, body } = this.#answer(request, text);
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    response.writeHead(status, type).end(body === undefined ? undefined : JSON.stringify(body));
  }

  #answer({ method = '', url = '', headers }: IncomingMessage, text: string): Answer {
    const { authorization = '', 'content-type': type } = headers;
    const a =
      /^\/2010-04-01\/Accounts\/(AC[0-9a-f]{32})\/Calls(?:\/(CA[0-9a-f]{32}))?(\/Recordings(?:\/Twilio\.CURRENT)?)?\.json$/;
    const inA = a.exec(url);
    if (inA) {
      const [, account, id, recordings] = inA;
      const basic = `Basic ${Buffer.from(`${this.accountSid}:${this.authToken}`).toString('base64')}`;
      if (account !== this.accountSid || authorization !== basic) {
        return { status: 401, body: { code: 20003, message: 'Authenticate', status: 401 } };
      }
      if (method === 'POST' && type !== 'application/x-www-form-urlencoded') return refused('not a form');
      return this.#answerA(method, id, recordings, new URLSearchParams(text));
    }
    const inB = /^\/v1\/calls(?:\/([0-9a-f-]{36})(\/dtmf)?)?$/.exec(url);
    if (!inB) return { status: 404, body: { type: 'NOT_FOUND' } };
    if (!this.#isOurs(authorization))
      return { status: 401, body: { type: 'UNAUTHORIZED', error_title: 'Unauthorized' } };
    if (method !== 'GET' && type !== 'application/json') return refused('not JSON');
    return this.#answerB(method, inB[1], inB[2] !== undefined, text);
  }

  #answerA(method: string, id: string | undefined, recordings: string | undefined, form: URLSearchParams): Answer {
    const unknown = [...form.keys()].find(
      (key) => !fieldsA[`${id ? 'update' : 'create'}${recordings ?? ''}`]?.includes(key),
    );
    if (unknown !== undefined) return refused(`unknown field ${unknown}`);
    const wrong = form.has('Twiml') ? wrongTwiml(form.get('Twiml') ?? '') : undefined;
    if (wrong !== undefined) return refused(wrong);
    const call = id === undefined ? undefined : this.calls.get(id);
    if (id === undefined) {
      const [to, from, twiml] = [form.get('To'), form.get('From'), form.get('Twiml')];
      if (method !== 'POST' || !/^\+\d{7,15}$/.test(to ?? '') || !/^\+\d{7,15}$/.test(from ?? '') || twiml === null) {
        return refused('To, From and Twiml are needed');
      }
      const fields = { ...Object.fromEntries(form), StatusCallbackEvent: form.getAll('StatusCallbackEvent') };
      const sid = `CA${randomBytes(16).toString('hex')}`;
      const placed = {
        id: sid,
        to: to ?? '',
        from: from ?? '',
        status: 'queued',
        instructions: [twiml],
        recording: [],
        keys: [],
      };
      return { status: 201, body: resourceA(this.#add({ ...placed, fields })) };
    }
    if (!call) return notFound;
    if (recordings !== undefined) {
      const status = recordings.endsWith('CURRENT') ? form.get('Status') : 'in-progress';
      if (recordings.endsWith('CURRENT') && call.recording.length === 0) return notFound;
      if (!['paused', 'in-progress', 'stopped'].includes(status ?? '')) return refused('Status of a recording');
      call.recording.push(status ?? '');
      return { status: recordings.endsWith('CURRENT') ? 200 : 201, body: { sid: `RE${call.id.slice(2)}`, status } };
    }
    if (method === 'GET') return { status: 200, body: resourceA(call) };
    if (call.status === 'completed') return notFound;
    if (form.get('Status') === 'completed') call.status = 'completed';
    else if (call.status !== 'in-progress') return refused('Call is not in-progress. Cannot redirect.');
    else if (form.has('Twiml')) call.instructions.push(form.get('Twiml'));
    else return refused('nothing to update');
    return { status: 200, body: resourceA(call) };
  }

  #answerB(method: string, uuid: string | undefined, isDtmf: boolean, text: string): Answer {
    const body: unknown = text === '' ? {} : JSON.parse(text);
    if (!isObject(body)) return refused('not an object');
    if (uuid === undefined) {
      const { to, from, ncco, ...fields } = body;
      const [number, by] = [Array.isArray(to) && to.length === 1 ? numberOf(to[0]) : undefined, numberOf(from)];
      const wrong = wrongNcco(ncco) ?? Object.keys(fields).find((key) => !['ringing_timer', 'event_url'].includes(key));
      if (method !== 'POST' || number === undefined || by === undefined || wrong !== undefined)
        return refused(wrong ?? 'to, from');
      const id = randomUUID();
      this.#add({ id, to: number, from: by, status: 'started', instructions: [ncco], recording: [], keys: [], fields });
      return {
        status: 201,
        body: { uuid: id, status: 'started', direction: 'outbound', conversation_uuid: `CON-${id}` },
      };
    }
    const call = this.calls.get(uuid);
    if (!call) return { status: 404, body: { type: 'NOT_FOUND', error_title: 'Not Found' } };
    if (method === 'GET') return { status: 200, body: { uuid, status: call.status } };
    if (method !== 'PUT') return { status: 405 };
    if (isDtmf) {
      const { digits, ...rest } = body;
      if (typeof digits !== 'string' || !/^[0-9*#p]+$/.test(digits) || Object.keys(rest).length > 0)
        return refused('digits');
      call.keys.push(digits);
      return { status: 200, body: { message: 'DTMF sent', uuid } };
    }
    if (call.status === 'completed') return { status: 404, body: { type: 'NOT_FOUND', error_title: 'Not Found' } };
    const { action, destination } = body;
    if (action === 'hangup' && destination === undefined) call.status = 'completed';
    else if (action === 'transfer' && isObject(destination) && destination['type'] === 'ncco') {
      const wrong = wrongNcco(destination['ncco']);
      if (wrong !== undefined || call.status !== 'answered') return refused(wrong ?? 'the call is not answered');
      call.instructions.push(destination['ncco']);
    } else return refused('action');
    return { status: 204 };
  }

  /** Whether a JWT is this application's: RS256, its id, not expired, and used once. */
  #isOurs(authorization: string): boolean {
    const [, header = '', payload = '', signature = ''] =
      /^Bearer ([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(authorization) ?? [];
    const verify = createVerify('RSA-SHA256').update(`${header}.${payload}`);
    if (!verify.verify(this.#publicKey, Buffer.from(signature, 'base64url'))) return false;
    const part = (text: string): Record<string, unknown> =>
      JSON.parse(Buffer.from(text, 'base64url').toString()) as Record<string, unknown>;
    const { application_id: application, iat, exp, jti } = part(payload);
    const now = Date.now() / 1000;
    const isFresh = Number(iat) <= now + 1 && Number(exp) > now && typeof jti === 'string' && !this.#tokens.has(jti);
    if (isFresh) this.#tokens.add(jti);
    return isFresh && part(header)['alg'] === 'RS256' && application === this.applicationId;
  }
}

const fieldsA: Readonly<Record<string, readonly string[]>> = {
  create: ['To', 'From', 'Twiml', 'Timeout', 'StatusCallback', 'StatusCallbackEvent'],
  update: ['Twiml', 'Status'],
  'update/Recordings': ['RecordingChannels', 'RecordingStatusCallback'],
  'update/Recordings/Twilio.CURRENT': ['Status', 'PauseBehavior'],
};

function resourceA({ id, to, from, status, answeredBy }: RestCall): object {
  return { sid: id, to, from, status, answered_by: answeredBy ?? null, direction: 'outbound-api' };
}

/** The verbs and nouns that calls need, with their attributes. */
const verbs: Readonly<Record<string, { readonly attributes: readonly string[]; readonly nouns?: readonly string[] }>> =
  {
    Connect: { attributes: [], nouns: ['Stream'] },
    Stream: { attributes: ['url'], nouns: ['Parameter'] },
    Parameter: { attributes: ['name', 'value'] },
    Say: { attributes: ['language'] },
    Dial: { attributes: ['callerId'], nouns: ['Number', 'Conference'] },
    Number: { attributes: [] },
    Conference: { attributes: ['startConferenceOnEnter', 'endConferenceOnExit', 'beep'] },
  };

function wrongTwiml(text: string): string | undefined {
  if (text.length > 4000) return 'Twiml is longer than 4000 characters';
  try {
    const root = parseXml(text.replace(/^<\?xml version="1\.0" encoding="UTF-8"\?>/, ''));
    if (root.name !== 'Response') return 'no Response';
    return childrenOf(root)
      .map((each) => wrongVerb(each, ['Connect', 'Say', 'Dial']))
      .find((wrong) => wrong !== undefined);
  } catch (error) {
    return `no XML: ${String(error)}`;
  }
}

function childrenOf({ children }: XmlElement): XmlElement[] {
  return children.filter((child) => typeof child !== 'string');
}

function wrongVerb(element: XmlElement, allowed: readonly string[]): string | undefined {
  const { attributes = [], nouns = [] } = verbs[element.name] ?? {};
  if (!allowed.includes(element.name)) return `${element.name} is not allowed here`;
  const odd = Object.keys(element.attributes).find((key) => !attributes.includes(key));
  if (odd !== undefined) return `${element.name} has no ${odd}`;
  const { url } = element.attributes;
  if (element.name === 'Stream' && !/^wss:\/\/[^?]+$/.test(url ?? ''))
    return 'Stream needs a wss address without a query';
  return childrenOf(element)
    .map((each) => wrongVerb(each, nouns))
    .find((wrong) => wrong !== undefined);
}

const actions: Readonly<Record<string, readonly string[]>> = {
  connect: ['endpoint', 'from'],
  talk: ['text', 'language'],
  conversation: ['name', 'startOnEnter', 'endOnExit'],
  record: ['eventUrl', 'split', 'channels'],
};

function wrongNcco(ncco: unknown): string | undefined {
  if (!Array.isArray(ncco) || ncco.length === 0) return 'no ncco';
  for (const each of ncco as unknown[]) {
    if (!isObject(each)) return 'no action';
    const { action, ...rest } = each;
    const known = actions[String(action)];
    const odd = Object.keys(rest).find((key) => !known?.includes(key));
    if (!known || odd !== undefined) return `${String(action)} has no ${odd ?? 'such action'}`;
    const [endpoint] = Array.isArray(rest['endpoint']) ? (rest['endpoint'] as unknown[]) : [];
    if (action === 'connect' && !(isObject(endpoint) && (endpoint['type'] === 'websocket' || numberOf(endpoint))))
      return 'endpoint';
  }
  return undefined;
}

/** A number as the platform writes it: without a plus. */
function numberOf(endpoint: unknown): string | undefined {
  if (!isObject(endpoint) || endpoint['type'] !== 'phone') return undefined;
  const { number } = endpoint;
  return typeof number === 'string' && /^\d{7,15}$/.test(number) ? number : undefined;
}
