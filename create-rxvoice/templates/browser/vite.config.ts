import { createProxy, deepgram, groq } from 'rxvoice/proxy';
import { defineConfig, loadEnv, type PreviewServer, type ViteDevServer } from 'vite';

const isSandbox = process.env['RXVOICE_SANDBOX'] !== undefined;

/** The keys stay here: the page talks to the services through this server. */
function voiceProxy(environment: Record<string, string | undefined>) {
  const { DEEPGRAM_BASE_URL, GROQ_BASE_URL } = environment;
  const serve = ({ middlewares, httpServer }: ViteDevServer | PreviewServer): void => {
    const proxy = createProxy({
      prefix: '/voice',
      targets: { deepgram, groq },
      environment,
      bases: { deepgram: DEEPGRAM_BASE_URL, groq: GROQ_BASE_URL },
      log: console.log,
    });
    middlewares.use(proxy.handle);
    // Other sockets are Vite's own.
    httpServer?.on('upgrade', (request, socket, head) => void proxy.upgrade(request, socket, head));
    httpServer?.on('close', () => void proxy.dispose());
  };
  return { name: 'voice-proxy', configureServer: serve, configurePreviewServer: serve };
}

export default defineConfig(({ mode }) => ({
  define: { __SANDBOX__: JSON.stringify(isSandbox) },
  plugins: [voiceProxy({ ...loadEnv(mode, process.cwd(), ''), ...process.env })],
}));
