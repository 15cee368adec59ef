/** A chat page without a microphone and a speaker; and a spoken answer or a written one, as the user asks. */
import { Pipeline, TextInput, TextOutput, TextVoice, type Tool } from 'rxvoice';
import type { Kit } from './kit.ts';

const clock: Tool = {
  name: 'get_time',
  description: 'The current time.',
  parameters: { type: 'object', properties: {} },
  execute: () => '12:34',
};

export async function recipe(kit: Kit): Promise<void> {
  // Typed and read: send() and tokens alone, with the same turns, tools and history as a call.
  await using chat = new Pipeline({ providers: [new TextInput(), kit.llm(), new TextOutput()], tools: [clock] });
  let page = '';
  chat.on('llm.token', ({ delta }) => (page += delta));
  await chat.start();
  await chat.send('Say hello to the page').done;
  kit.print(`page: ${page}`);
  page = '';
  await chat.send('What time is it?').done;
  kit.print(`page: ${page}`);
  for (const { role, content } of chat.history.messages()) kit.print(`${role}: ${content}`);

  // Typed, and heard unless it is to be read.
  await using spoken = new Pipeline({ providers: [new TextInput(), kit.llm(), kit.tts(), kit.output] });
  await spoken.start();
  await spoken.send('Say hello to the ear').done;
  const { heardText } = await spoken.send('Say hello to the eye', { answer: { tts: new TextVoice() } }).done;
  kit.print(`read: ${heardText}`);
  kit.print(`heard: ${kit.heard()}`);
}
