/** A clip that is played beside the conversation: nobody can interrupt it, and the model never learns of it. */
import { of, type Observable } from 'rxjs';
import { Recording, type AudioMetadata, type VoiceEvent } from 'rxvoice';
import { encodeWav } from 'rxvoice/audio';
import { audioToText, textAudioFormat, textToAudio } from 'rxvoice/testing';
import { call, over, type Call } from '../pipeline/support/call.ts';
import { ofType } from '../pipeline/support/timeline.ts';

const words = 'This call may be recorded. Press 1 to object.';
/** What a listener reads in the samples: the clip's own words, in capitals. */
const clip = textToAudio(words.toUpperCase(), 50);
const heard = ({ output }: Call): string => audioToText(output.heard, 50);
const chopped = (bytes: Uint8Array<ArrayBuffer>, size: number): Observable<Uint8Array<ArrayBuffer>> =>
  of(...Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.slice(at * size, (at + 1) * size)));

describe('say() with a Recording', () => {
  it.each<[string, () => Recording]>([
    ['samples', () => new Recording(clip, textAudioFormat)],
    ['a WAV file', () => new Recording(encodeWav(clip, textAudioFormat))],
    ['a stream of odd pieces', () => new Recording(chopped(clip, 333), textAudioFormat)],
    ['a stream of a WAV file', () => new Recording(chopped(encodeWav(clip, textAudioFormat), 7))],
  ])('plays %s to the last sample; its words are remembered, and billed to nobody', async (_, recording) => {
    const rig = await call();
    const { done } = rig.pipeline.say(words, { tts: recording() });
    await rig.scheduler.advance(5_000);
    expect(heard(rig)).toBe(words.toUpperCase());
    expect(await done).toEqual({ heardText: words, interrupted: false });
    expect(rig.pipeline.history.messages()).toEqual([{ role: 'assistant', content: words }]);
    expect(ofType(rig.events, 'usage')).toEqual([]);
    await over(rig);
  });

  it('is cut off like speech, and remembered as far as it was heard', async () => {
    const rig = await call();
    const captions: string[] = [];
    rig.pipeline.on('caption.word', ({ text }: VoiceEvent<'caption.word'>) => captions.push(text));
    const handle = rig.pipeline.say(words, { tts: new Recording(clip, textAudioFormat) });
    await rig.scheduler.advance(1_100);
    handle.interrupt();
    await rig.scheduler.advance(5_000);
    const { heardText, interrupted } = await handle.done;
    expect(interrupted).toBe(true);
    expect(heardText).toBe('This call may be');
    expect(heard(rig).startsWith(heardText.toUpperCase())).toBe(true);
    expect(heard(rig).length).toBeLessThan(25);
    expect(captions.join(' ').startsWith(heardText)).toBe(true);
    await over(rig);
  });

  it('waits its turn, and may be said again', async () => {
    const rig = await call({ voice: { msPerCharacter: 50 } });
    const beep = new Recording(textToAudio('BEEP', 50), textAudioFormat);
    rig.pipeline.say('One.');
    rig.pipeline.say('♪', { tts: beep, store: false });
    rig.pipeline.say('Two.');
    rig.pipeline.say('♪', { tts: beep, store: false });
    await rig.scheduler.advance(5_000);
    expect(heard(rig)).toBe('One.BEEPTwo.BEEP');
    expect(rig.pipeline.history.messages()).toEqual([{ role: 'assistant', content: 'One. Two.' }]);
    await over(rig);
  });

  it('says what is wrong with it, and the conversation goes on', async () => {
    const rig = await call({ voice: { msPerCharacter: 50 } });
    rig.pipeline.say(words, { tts: new Recording(clip) });
    const odd: AudioMetadata = { encoding: 'opus', sampleRate: 48_000, channels: 1 };
    rig.pipeline.say(words, { tts: new Recording(clip, odd) });
    rig.pipeline.say('Hello.');
    await rig.scheduler.advance(10_000);
    const codes = ofType(rig.events, 'error').map(({ code }) => code);
    expect(codes).toEqual(['configuration', 'unsupported_format']);
    expect(heard(rig)).toBe('Hello.');
    await over(rig);
  });
});
