import { concat, NEVER, of, Subject } from 'rxjs';
import { AlphaTTS } from '../../../lib/providers/tts/alpha-tts.ts';
import { GammaTTS } from '../../../lib/providers/tts/gamma-tts.ts';
import { PiTTS } from '../../../lib/providers/tts/pi-tts.ts';
import type { TransportOptions } from '../../../lib/core/remote-provider.ts';
import type { ConnectionEvent } from '../../../lib/core/roles.ts';
import { FakeSockets } from '../../transport/fake-sockets.ts';
import { settle, TestClock } from '../../transport/test-clock.ts';
import { listenTo } from './fixture.ts';

class FakedAlphaTTS extends AlphaTTS {
  readonly sockets: FakeSockets = new FakeSockets();

  protected override get transportOptions(): TransportOptions {
    return { ...super.transportOptions, ...{ openSocket: this.sockets.open } };
  }
}

class FakedGammaTTS extends GammaTTS {
  readonly sockets: FakeSockets = new FakeSockets();

  protected override get transportOptions(): TransportOptions {
    return { ...super.transportOptions, ...{ openSocket: this.sockets.open } };
  }
}

class FakedPiTTS extends PiTTS {
  readonly sockets: FakeSockets = new FakeSockets();

  protected override get transportOptions(): TransportOptions {
    return { ...super.transportOptions, ...{ openSocket: this.sockets.open } };
  }
}

const audio = 'AQACAAMABAAFAAYABwAIAA==';

/** Each voice, and what its service answers to the one utterance that it is told. */
const subjects = {
  AlphaTTS: {
    make: (scheduler: TestClock) => new FakedAlphaTTS({ apiKey: 'a-key', scheduler }),
    answer: () => [new Uint8Array(16), { type: 'Flushed', sequence_id: 0 }],
  },
  GammaTTS: {
    make: (scheduler: TestClock) => new FakedGammaTTS({ apiKey: 'a-key', voiceId: 'v', scheduler }),
    answer: (contextId: string) => [
      { audio, contextId },
      { isFinal: true, contextId },
    ],
  },
  PiTTS: {
    make: (scheduler: TestClock) => new FakedPiTTS({ apiKey: 'a-key', voiceId: 'v', scheduler }),
    answer: (context_id: string) => [
      { type: 'chunk', context_id, data: audio, done: false, status_code: 206 },
      { type: 'done', context_id, done: true, status_code: 200 },
    ],
  },
};

describe('Voices on sockets', () => {
  for (const [name, { make, answer }] of Object.entries(subjects)) {
    const given = async () => {
      const clock = new TestClock();
      const tts = make(clock);
      const events: ConnectionEvent[] = [];
      tts.connection$.subscribe((event) => events.push(event));
      const heard = listenTo(tts);
      await tts.initialize();
      await settle();
      tts.sockets.last.accept();
      const dispose = async (): Promise<void> => {
        const disposed = tts.dispose();
        await clock.advance(2_000);
        await disposed;
        expect(clock.pending).toBe(0);
      };
      return { clock, tts, events, heard, dispose };
    };

    it(`${name} replaces a connection whose service vanished silently (F8)`, async () => {
      const { clock, tts, events, dispose } = await given();
      const first = tts.sockets.last;
      for (let ms = 0; ms < 60_000 && !first.terminated; ms += 1_000) await clock.advance(1_000);
      expect(first.terminated).toBe(true);
      const message: unknown = expect.stringContaining('keep-alives');
      expect(events.find(({ type }) => type === 'reconnecting')).toMatchObject({
        error: { code: 'connection', recoverable: true, message },
      });
      await clock.advance(1_000);
      expect(tts.sockets.all).toHaveLength(2);
      await dispose();
    });

    it(`${name} reads messages in binary frames (F12)`, async () => {
      const { clock, tts, heard, dispose } = await given();
      let isOver = false;
      tts.speak(of('Hi you.')).subscribe({ complete: () => (isOver = true) });
      await clock.advance(0);
      const id = /"context_id":"(utt_\d+)"/.exec(tts.sockets.last.texts.at(-1) ?? '')?.[1] ?? '';
      for (const message of answer(id)) {
        const isAudio = message instanceof Uint8Array;
        tts.sockets.last.say(isAudio ? message : new TextEncoder().encode(JSON.stringify(message)));
      }
      await clock.advance(0);
      expect([isOver, heard.chunks.length, heard.errors]).toEqual([true, 1, []]);
      await dispose();
    });
  }

  it('GammaTTS keeps a dialogue open while its text pauses, and a connection without one by a context of its own', async () => {
    const clock = new TestClock();
    const tts = new FakedGammaTTS({ apiKey: 'a-key', voiceId: 'v', modelId: 'v4_turbo', scheduler: clock });
    await tts.initialize();
    await settle();
    const { last } = tts.sockets;
    last.accept();
    const pass = async (seconds: number): Promise<void> => {
      for (let count = 0; count < seconds; count++) {
        last.pong();
        await clock.advance(1_000);
      }
    };
    await pass(15);
    const kept = [
      { voices: ['v'], context_id: 'keep_alive' },
      { keep_alive: true, context_id: 'keep_alive' },
    ];
    expect(last.texts.map((text) => JSON.parse(text) as unknown)).toEqual(kept.slice(0, 1));
    await pass(8);
    expect(last.texts.map((text) => JSON.parse(text) as unknown)).toEqual(kept);
    const utterance = tts.speak(concat(of('One.'), NEVER)).subscribe();
    await clock.advance(0);
    const [, , opening = '{}'] = last.texts;
    const { context_id } = JSON.parse(opening) as { context_id: string };
    last.say({ context_id, audio });
    last.say({ context_id, is_final_audio_for_turn: true });
    await pass(15);
    expect(JSON.parse(last.texts.at(-1) ?? '{}')).toEqual({ context_id, keep_alive: true });
    utterance.unsubscribe();
    const disposed = tts.dispose();
    await clock.advance(10_000);
    await disposed;
  });

  it('PiTTS counts another maxBufferDelayMs at once: no audio is due while the service collects text', async () => {
    const clock = new TestClock();
    const tts = new FakedPiTTS({ apiKey: 'a-key', voiceId: 'v', scheduler: clock });
    await tts.initialize();
    await settle();
    const first = tts.sockets.last;
    first.accept();
    const wait = async (seconds: number): Promise<void> => {
      for (let count = 0; count < seconds; count++) {
        tts.sockets.last.pong();
        await clock.advance(1_000);
      }
    };
    tts.updateConfig({ maxBufferDelayMs: 3_000 });
    const text$ = new Subject<string>();
    const utterance = tts.speak(text$).subscribe();
    text$.next('One.');
    await wait(20);
    expect(first.terminated).toBe(false);
    tts.updateConfig({ maxBufferDelayMs: 0 });
    text$.next('Two.');
    await wait(6);
    // It says nothing, although nothing is to come: another connection is tried.
    expect(first.terminated).toBe(true);
    expect(tts.sockets.all).toHaveLength(2);
    utterance.unsubscribe();
    const disposed = tts.dispose();
    await clock.advance(2_000);
    await disposed;
  });
});
