/** Captions that run ahead of the voice, go on while it is paused, or show what was never said. */
import { from, map, type Observable, type ObservableInput } from 'rxjs';
import { Pipeline, type AudioChunk, type AudioMetadata, type PlaybackEvent, type VoiceEvent } from 'rxvoice';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS, textAudioFormat } from 'rxvoice/testing';
import { TestClock } from '../transport/test-clock.ts';
import { call, over, type Call } from './support/call.ts';
import { ofType } from './support/timeline.ts';
import { markdown } from '../../lib/text/markdown.ts';
import { pronunciations } from '../../lib/text/pronunciations.ts';

type Caption = VoiceEvent<'caption.word'>;

const mp3 = { encoding: 'mp3', sampleRate: 24_000, channels: 1 } as const;

/** A voice whose audio does not say how long it is. */
class CompressedTTS extends FakeTTS {
  override getMetadata(): AudioMetadata {
    return mp3;
  }

  override speak(text$: ObservableInput<string>): Observable<AudioChunk> {
    return super.speak(text$).pipe(map((chunk) => ({ ...chunk, metadata: mp3 })));
  }
}

/** An output that decodes it. */
class DecodingOutput extends FakeOutput {
  override readonly accepts = [{ encoding: 'mp3' } as const];

  override play(audio$: ObservableInput<AudioChunk>): Observable<PlaybackEvent> {
    return super.play(from(audio$).pipe(map((chunk) => ({ ...chunk, metadata: textAudioFormat }))));
  }
}

/** What is told of captions, and when, from the beginning of the speech. */
function listen({ pipeline }: Pick<Call, 'pipeline'>): Caption[] {
  const captions: Caption[] = [];
  pipeline.captions$.subscribe((event) => captions.push(event));
  return captions;
}
const texts = (captions: readonly Caption[]): string[] => captions.map(({ text }) => text);

describe('caption.word', () => {
  it('comes as each word of an answer begins to sound, on the clock of the playback', async () => {
    const rig = await call({ llm: { answer: () => 'The *big* dog. It barks!' } });
    const captions = listen(rig);
    await rig.scheduler.advance(0);
    rig.stt.hearWords(FakeSTT.result('go', 'final'));
    await rig.scheduler.advance(10_000);
    const begun = ofType(rig.events, 'speech.started')[0]?.at ?? NaN;
    expect(captions.map(({ text, at }) => `${at - begun} ${text}`)).toEqual([
      '0 The',
      '400 big',
      '800 dog.',
      '1300 It',
      '1600 barks!',
    ]);
    const [ended] = ofType(rig.events, 'speech.ended');
    expect(captions.map(({ range }) => ended?.text.slice(...range))).toEqual([
      'The',
      expect.stringContaining('big'),
      'dog.',
      'It',
      'barks!',
    ]);
    expect(captions[0]).toMatchObject({ startMs: 0, endMs: 300, estimated: false, speechId: ended?.speechId });
    expect(captions[0]?.turnId).toBeDefined();
    await over(rig);
  });

  it('comes for say() and by name, by proportion where the voice tells no times', async () => {
    const rig = await call({ voice: { words: false } });
    const told: string[] = [];
    const undo = rig.pipeline.on('caption.word', ({ text, estimated }) => told.push(`${text} ${estimated}`));
    await rig.scheduler.advance(0);
    rig.pipeline.say('Good morning to you.');
    await rig.scheduler.advance(5_000);
    expect(told).toEqual(['Good true', 'morning true', 'to true', 'you. true']);
    undo();
    rig.pipeline.say('Good morning to you.');
    await rig.scheduler.advance(5_000);
    expect(told).toHaveLength(4);
    await over(rig);
  });

  it('waits while the agent is paused, and does not come for what is cut off', async () => {
    const rig = await call();
    const captions = listen(rig);
    await rig.scheduler.advance(0);
    rig.pipeline.say('One two three four five six.');
    await rig.scheduler.advance(500);
    rig.stt.hearVoice('started');
    await rig.scheduler.advance(3_000);
    const paused = texts(captions);
    expect(paused.length).toBeLessThanOrEqual(2);
    rig.stt.hearVoice('ended');
    await rig.scheduler.advance(1_900);
    expect(captions.length).toBeGreaterThan(paused.length);
    rig.pipeline.interrupt();
    await rig.scheduler.advance(5_000);
    const [ended] = ofType(rig.events, 'speech.ended');
    expect(ended?.interrupted).toBe(true);
    expect(
      texts(captions)
        .join(' ')
        .startsWith(ended?.heardText ?? ''),
    ).toBe(true);
    expect(texts(captions)).not.toContain('six.');
    await over(rig);
  });

  it('comes for every word that was heard, also of a voice that speaks faster than expected', async () => {
    const scheduler = new TestClock();
    const fakes = { scheduler };
    const voice = new CompressedTTS({ ...fakes, words: false, msPerCharacter: 20 });
    const providers = [new FakeInput(fakes), new FakeSTT(fakes), new FakeLLM(fakes), voice, new DecodingOutput(fakes)];
    const pipeline = new Pipeline({ providers, scheduler });
    const captions = listen({ pipeline });
    const ended: VoiceEvent<'speech.ended'>[] = [];
    pipeline.on('speech.ended', (event) => ended.push(event));
    const started = pipeline.start();
    await scheduler.advance(0);
    await started;
    pipeline.say('One two three four five six.');
    await scheduler.advance(5_000);
    expect(texts(captions)).toEqual(['One', 'two', 'three', 'four', 'five', 'six.']);
    expect(Math.max(...captions.map(({ startMs }) => startMs))).toBeLessThanOrEqual(ended[0]?.playedMs ?? 0);
    const disposed = pipeline.dispose();
    await scheduler.advance(5_000);
    await disposed;
  });

  it('comes once for each word, whatever ends meanwhile without a sound', async () => {
    const rig = await call();
    const captions = listen(rig);
    await rig.scheduler.advance(0);
    rig.pipeline.say('One two three four five six.');
    await rig.scheduler.advance(900);
    const waiting = rig.pipeline.say('Never mind.');
    await rig.scheduler.advance(100);
    waiting.interrupt();
    await rig.scheduler.advance(5_000);
    expect(ofType(rig.events, 'speech.ended')).toHaveLength(2);
    expect(texts(captions)).toEqual(['One', 'two', 'three', 'four', 'five', 'six.']);
    await over(rig);
  });

  it('is made only while somebody listens: not for events$, not for *, no longer once they have left', async () => {
    const rig = await call();
    rig.pipeline.events$.subscribe();
    rig.pipeline.say('One two three.');
    await rig.scheduler.advance(3_000);
    expect(ofType(rig.events, 'caption.word')).toEqual([]);
    const subscription = rig.pipeline.captions$.subscribe();
    await rig.scheduler.advance(0);
    rig.pipeline.say('One two three.');
    await rig.scheduler.advance(450);
    subscription.unsubscribe();
    await rig.scheduler.advance(3_000);
    expect(texts(ofType(rig.events, 'caption.word'))).toEqual(['One', 'two']);
    await over(rig);
  });

  it('follows a script without spaces, and what is spoken otherwise than written', async () => {
    const rig = await call({ locale: 'ja-JP', text: [markdown(), pronunciations({ SQL: 'see quell' })] });
    const captions = listen(rig);
    await rig.scheduler.advance(0);
    rig.pipeline.say('今日は晴れです。');
    await rig.scheduler.advance(5_000);
    expect(texts(captions).join('')).toBe('今日は晴れです。');
    expect(captions.length).toBeGreaterThan(1);
    rig.pipeline.say('Learn SQL now.');
    await rig.scheduler.advance(5_000);
    expect(texts(captions).slice(-3)).toEqual(['Learn', 'SQL', 'now.']);
    await over(rig);
  });
});
