import { readFile, writeFile } from 'node:fs/promises';
import { lastValueFrom, of, toArray } from 'rxjs';
import { concatBytes, encodeWav, WavReader } from 'rxvoice/audio';
import { DeepgramSTT, DeepgramTTS } from 'rxvoice/deepgram';
import { GroqLLM } from 'rxvoice/groq';
import { interpret } from './interpret.ts';

const [source = '', target = '', language = 'German'] = process.argv.slice(2);
const { SANDBOX, DEEPGRAM_API_KEY = '', GROQ_API_KEY = '' } = process.env;
const at = (mount: string, apiKey: string): { apiKey: string; endpoint?: string } =>
  SANDBOX ? { apiKey: 'sandbox-key', endpoint: SANDBOX + mount } : { apiKey };

const reader = new WavReader();
const data = reader.push(new Uint8Array(await readFile(source)));
const { metadata } = reader;
if (!metadata) throw new Error(`${source}: ${reader.problem ?? 'not a WAV file'}`);

const stt = new DeepgramSTT(at('/alpha', DEEPGRAM_API_KEY));
const llm = new GroqLLM({ ...at('/nu/openai/v1', GROQ_API_KEY), model: 'openai/gpt-oss-20b' });
const tts = new DeepgramTTS({ ...at('/alpha', DEEPGRAM_API_KEY), sampleRate: 16_000 });
const providers = [stt, llm, tts];
await Promise.all(providers.map((provider) => provider.initialize()));
stt.configureAudio(metadata);

const spoken$ = stt.transcribe(of({ data, metadata })).pipe(interpret({ llm, tts, language }), toArray());
const chunks = await lastValueFrom(spoken$);
const format = { encoding: 'linear16', sampleRate: 16_000, channels: 1, bitDepth: 16 } as const;
await writeFile(target, encodeWav(concatBytes(...chunks.map((chunk) => chunk.data)), format));
await Promise.all(providers.map((provider) => provider.dispose()));
