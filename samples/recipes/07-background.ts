/** A hum under a whole call, softer while the agent speaks, and a tick while it thinks. */
import { background, mixable, Pipeline } from 'rxvoice';
import { decodeSamples, encodeWav, int16Bytes, rmsLevel } from 'rxvoice/audio';
import type { Kit } from './kit.ts';

export async function recipe(kit: Kit): Promise<void> {
  const { phone, caller } = await kit.ring();
  await using pipeline = new Pipeline({ providers: [mixable(phone), kit.stt(), kit.llm(), kit.tts()] });
  background(pipeline, { ambience: wave(100, 8_000), thinking: wave(5, 800), volume: 0.02 }).subscribe();

  // How loud it is while the agent is silent; the agent's words are much louder.
  let silence = 0;
  phone.heard$.subscribe(({ data }) => {
    if (pipeline.agentState === 'listening') silence = rmsLevel(decodeSamples(data, 'mulaw'));
  });
  await pipeline.start();
  await caller.until(({ playedMs }) => playedMs > 1_000);
  kit.print(`silence: ${silence > 0.005 ? 'a hum' : 'nothing'}`);

  caller.say('Say it hums');
  const { heardText } = await kit.next(pipeline, 'speech.ended');
  kit.print(`said: ${heardText}`);
  await caller.until((line) => line.heard().utterances.length > 0);
  kit.print(`heard: ${caller.heard().text}`);
}

/** Some periods of a wave, as a WAV file. */
function wave(hertz: number, length: number): Uint8Array<ArrayBuffer> {
  const samples = Int16Array.from({ length }, (_, at) => 20_000 * Math.sin((2 * Math.PI * hertz * at) / 8_000));
  return encodeWav(int16Bytes(samples), { encoding: 'linear16', sampleRate: 8_000, channels: 1 });
}
