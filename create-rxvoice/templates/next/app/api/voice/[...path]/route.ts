import { createProxy, deepgram, groq, type Proxy } from 'rxvoice/proxy';

let proxy: Proxy | undefined;

/** The keys stay here. Made at the first request: a build has none. */
const handler = (request: Request): Promise<Response> => {
  const { DEEPGRAM_BASE_URL, GROQ_BASE_URL } = process.env;
  proxy ??= createProxy({
    prefix: '/api/voice',
    targets: { deepgram, groq },
    tokens: ['deepgram'],
    bases: { deepgram: DEEPGRAM_BASE_URL, groq: GROQ_BASE_URL },
    log: console.log,
  });
  return proxy.fetch(request);
};

export { handler as GET, handler as POST, handler as OPTIONS };
