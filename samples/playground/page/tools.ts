import { defineTool, type Tool } from 'rxvoice';

const skies = ['clear', 'cloudy', 'light rain', 'foggy'];

function waited(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(new Error('aborted'));
    });
  });
}

/** What the model may have done, to see the lane of tools at work: ask for the weather in Paris, an order, or the time. */
export const tools: readonly Tool[] = [
  defineTool<{ city?: string }>({
    name: 'get_weather',
    description: 'The weather in a city, made up for this page.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execute: async ({ city = '' }, { signal }) => {
      await waited(900, signal);
      return `${city} is ${skies[city.length % skies.length] ?? ''} at ${8 + city.length} degrees`;
    },
  }),
  defineTool({
    name: 'find_order',
    description: "What has become of the caller's order, made up for this page; it takes long.",
    parameters: { type: 'object', properties: {} },
    execute: async (_, { signal }) => {
      await waited(6_000, signal);
      return { order: 'A lamp', state: 'on its way' };
    },
  }),
  defineTool({
    name: 'get_time',
    description: 'The time of day here.',
    parameters: { type: 'object', properties: {} },
    execute: () => ({ time: new Date().toLocaleTimeString('en', { hour: 'numeric', minute: '2-digit' }) }),
  }),
];
