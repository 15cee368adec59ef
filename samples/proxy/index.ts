import http from 'node:http';
import * as vendors from '../../lib/proxy/vendors.ts';
import { createProxy, type Proxy, type ProxyOptions, type ProxyTarget } from '../../lib/proxy/index.ts';

/** Every target of `rxvoice/proxy`, mounted under the first part of its providers' names. */
export const targets = {
  alpha: vendors.deepgram,
  beta: vendors.assemblyai,
  gamma: vendors.elevenlabs,
  delta: vendors.soniox,
  epsilon: vendors.gladia,
  zeta: vendors.speechmatics,
  eta: vendors.revai,
  theta: vendors.openai,
  iota: vendors.google,
  kappa: vendors.azure,
  lambda: vendors.amazonTranscribe,
  mu: vendors.anthropic,
  nu: vendors.groq,
  xi: vendors.mistral,
  omicron: vendors.gemini,
  omicronAgent: vendors.geminiLive,
  compatible: vendors.compatible,
  pi: vendors.cartesia,
  rho: vendors.speechify,
  sigma: vendors.murf,
  tau: vendors.lmnt,
  upsilon: vendors.smallest,
  phi: vendors.rime,
  chi: vendors.minimax,
  psi: vendors.fish,
  omega: vendors.amazonPolly,
  meet: vendors.googleMeet,
} as const satisfies Readonly<Record<string, ProxyTarget>>;

/** A proxy with a server of its own; its addresses are absolute. */
export interface RunningProxy extends Pick<Proxy, 'mounts' | 'providers'>, AsyncDisposable {
  /** Such as `http://127.0.0.1:8788`. */
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Runs a proxy on a port of its own. */
export async function startProxy(
  options: Partial<ProxyOptions> & {
    /** Default: 0, any free one. */
    readonly port?: number;
    /** Where it listens. Default: `127.0.0.1`: no other machine reaches it. */
    readonly host?: string;
  } = {},
): Promise<RunningProxy> {
  const { port = 0, host = '127.0.0.1', ...rest } = options;
  const proxy = createProxy({ targets, ...rest });
  const server = http.createServer({ headersTimeout: 10_000, keepAliveTimeout: 65_000 });
  server.on('request', (request, response) => {
    proxy.handle(request, response, () => response.writeHead(404).end());
  });
  server.on('upgrade', (request, socket, head) => {
    if (!proxy.upgrade(request, socket, head)) socket.destroy();
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const bound = typeof address === 'object' && address ? address.port : port;
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${bound}`;
  const absolute = (paths: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(paths).map(([name, path]) => [name, url + path]));
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    await proxy.dispose();
    server.closeAllConnections();
    await closed;
  };
  return {
    ...{ url, port: bound, close },
    mounts: absolute(proxy.mounts),
    providers: absolute(proxy.providers),
    [Symbol.asyncDispose]: close,
  };
}
