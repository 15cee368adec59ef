import { defineTool, type Tool } from 'rxvoice';

const skies = ['clear', 'cloudy', 'light rain', 'foggy'];

/** What the model may have done, to see the lane of tools at work: ask for the weather in Paris, or the time. */
export const tools: readonly Tool[] = [
  defineTool<{ city?: string }>({
    name: 'get_weather',
    description: 'The weather in a city, made up for this page.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    execute: async ({ city = '' }, { signal }) => {
      await new Promise<void>((resolve, reject) => {
        const timer = setTimeout(resolve, 900);
        signal.addEventListener('abort', () => {
          clearTimeout(timer);
          reject(new Error('aborted'));
        });
      });
      return { city, sky: skies[city.length % skies.length], celsius: 8 + city.length };
    },
  }),
  defineTool({
    name: 'get_time',
    description: 'The time of day here.',
    parameters: { type: 'object', properties: {} },
    execute: () => ({ time: new Date().toLocaleTimeString('en', { hour: 'numeric', minute: '2-digit' }) }),
  }),
];
