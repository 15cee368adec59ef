/** Slow: hundreds of utterances are made into tones and heard again. */
import fc from 'fast-check';
import OpusScript from 'opusscript';
import { createTranscoder } from 'rxvoice/audio';
import type { AudioMetadata } from 'rxvoice/audio';
import {
  characterMs,
  decodeSamples,
  durationMs,
  encodeText,
  ModemDecoder,
  noise,
  silence,
} from '../../../samples/sandbox/modem.ts';
import { concatBytes, readSamples, writeSamples } from '../../../samples/sandbox/pcm.ts';
import type { SampleEncoding } from '../../../samples/sandbox/pcm.ts';
import { utterances } from './utterances.ts';

const rates = [8000, 11025, 16000, 22050, 24000, 32000, 44100, 48000];

function join(...parts: Int16Array[]): Int16Array {
  const all = new Int16Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

function scaled(samples: Int16Array, factor: number): Int16Array {
  return samples.map((sample) => Math.round(sample * factor));
}

/** Samples as they come out of a phone line. */
function overPhone(text: string): Int16Array {
  return readSamples(writeSamples(encodeText(text, 8000), 'mulaw'), 'mulaw');
}

describe('the modem brings every word through', () => {
  const formats: readonly (readonly [SampleEncoding, number])[] = [
    ['mulaw', 8000],
    ['alaw', 8000],
    ['linear16', 16000],
    ['linear16', 24000],
    ['linear16', 48000],
    ['linear32', 16000],
  ];
  for (const [encoding, sampleRate] of formats) {
    it(`${utterances.length} utterances in ${encoding} at ${sampleRate} Hz`, () => {
      for (const text of utterances) {
        const samples = readSamples(writeSamples(encodeText(text, sampleRate), encoding), encoding);
        expect(decodeSamples(samples, sampleRate).text).toBe(text);
      }
    });
  }

  for (const sampleRate of rates) {
    it(`at ${sampleRate} Hz, from any offset`, () => {
      const text = 'Offsets, at any sample.';
      for (const offset of [0, 1, 2, 3, 5, 17, 101, 997]) {
        const samples = join(new Int16Array(offset), encodeText(text, sampleRate), silence(20, sampleRate));
        expect(decodeSamples(samples, sampleRate)).toMatchObject({ text, cut: false, damaged: false });
      }
    });
  }

  const linear = (sampleRate: number): AudioMetadata => ({ encoding: 'linear16', sampleRate, channels: 1 });
  const phone: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1 };
  const conversions: readonly (readonly [AudioMetadata, AudioMetadata])[] = [
    ...[16000, 24000, 44100, 48000].map((rate) => [linear(rate), phone] as const),
    ...[16000, 24000, 48000].map((rate) => [phone, linear(rate)] as const),
    [linear(24000), linear(16000)],
    [linear(44100), linear(16000)],
    [linear(16000), linear(48000)],
  ];
  for (const [from, to] of conversions) {
    const name = ({ encoding, sampleRate }: AudioMetadata): string => `${encoding} ${sampleRate}`;
    it(`resampled from ${name(from)} to ${name(to)} by the library in 20 ms frames`, () => {
      const encodingOf = ({ encoding }: AudioMetadata): SampleEncoding => (encoding === 'mulaw' ? 'mulaw' : 'linear16');
      for (const text of utterances.filter((_, index) => index % 5 === 0)) {
        const transcoder = createTranscoder(from, to);
        const bytes = writeSamples(encodeText(text, from.sampleRate), encodingOf(from));
        const frame = (from.sampleRate / 50) * (from.encoding === 'mulaw' ? 1 : 2);
        const parts = Array.from({ length: Math.ceil(bytes.length / frame) }, (_, n) =>
          transcoder.push(bytes.slice(n * frame, (n + 1) * frame)).slice(),
        );
        const all = concatBytes([...parts, transcoder.flush()]);
        expect(decodeSamples(readSamples(all, encodingOf(to)), to.sampleRate).text).toBe(text);
      }
    });
  }

  it('whatever the level, and over noise 20 dB below it', () => {
    const text = 'Loud or soft, it is the same.';
    const samples = encodeText(text, 8000);
    for (const level of [1.5, 1, 0.3, 0.1, 0.02]) expect(decodeSamples(scaled(samples, level), 8000).text).toBe(text);
    const hiss = noise(samples.length / 8, 8000, 0.05);
    const noisy = samples.map((sample, index) => sample + (hiss[index] ?? 0));
    expect(decodeSamples(noisy, 8000).text).toBe(text);
    expect(decodeSamples(join(noise(400, 8000, 0.05, 9), noisy), 8000).text).toBe(text);
  });

  it('ducked by 12 dB at any moment', () => {
    const text = 'Duck.';
    const samples = overPhone(text);
    for (let at = 0; at < samples.length; at += 41) {
      const ducked = join(samples.subarray(0, at), scaled(samples.subarray(at), 0.25));
      expect(decodeSamples(ducked, 8000).text).toBe(text);
      const raised = join(scaled(samples.subarray(0, at), 0.25), samples.subarray(at));
      expect(decodeSamples(raised, 8000).text).toBe(text);
    }
  });

  it('paused at any sample for any time, and resumed at the very next one', () => {
    const text = 'Wait é.';
    const samples = overPhone(text);
    for (const pause of [20, 300]) {
      for (let at = 0; at < samples.length; at += 43) {
        const paused = join(samples.subarray(0, at), silence(pause, 8000), samples.subarray(at), silence(20, 8000));
        expect(decodeSamples(paused, 8000)).toMatchObject({ text, damaged: false });
      }
    }
  });

  it('any text at all', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 12 }), (text) => {
        expect(decodeSamples(overPhone(text), 8000).text).toBe(text);
      }),
      { numRuns: 60 },
    );
  });
});

describe('the modem shows what went wrong as wrong text', () => {
  const text = 'Frames!';
  const samples = overPhone(text);
  const sounding = samples.length - 80;

  for (const frameMs of [10, 20, 40, 60]) {
    it(`a lost piece of ${frameMs} ms, wherever it was`, () => {
      const length = frameMs * 8;
      for (let at = 0; at + length <= sounding; at += 19) {
        const heard = decodeSamples(join(samples.subarray(0, at), samples.subarray(at + length)), 8000);
        expect(heard.text).not.toBe(text);
      }
    });
  }

  for (const frameMs of [20, 40]) {
    it(`a repeated piece of ${frameMs} ms, wherever it was`, () => {
      const length = frameMs * 8;
      for (let at = 0; at + length <= sounding; at += 19) {
        const again = join(samples.subarray(0, at + length), samples.subarray(at));
        expect(decodeSamples(again, 8000).text).not.toBe(text);
      }
    });
  }

  it('two frames of 20 ms in the wrong order, wherever they were', () => {
    for (let at = 0; at + 320 <= sounding; at += 19) {
      const swapped = join(
        ...[samples.subarray(0, at), samples.subarray(at + 160, at + 320)],
        ...[samples.subarray(at, at + 160), samples.subarray(at + 320)],
      );
      expect(decodeSamples(swapped, 8000).text).not.toBe(text);
    }
  });

  it('a whole character lost, repeated or moved', () => {
    const character = characterMs * 8;
    const all = overPhone('Every frame counts.');
    const piece = (from: number, to: number): Int16Array => all.subarray(from * character, to * character);
    expect(decodeSamples(join(piece(0, 3), piece(4, 19)), 8000).text).toBe('Evey frame counts.');
    expect(decodeSamples(join(piece(0, 4), piece(3, 19)), 8000).text).toBe('Everry frame counts.');
    expect(decodeSamples(join(piece(0, 2), piece(3, 4), piece(2, 3), piece(4, 19)), 8000).text).toBe(
      'Evrey frame counts.',
    );
  });

  it('the wrong sample rate', () => {
    expect(decodeSamples(encodeText(text, 16000), 24000).text).not.toBe(text);
    expect(decodeSamples(encodeText(text, 24000), 16000).text).not.toBe(text);
  });

  it('mu-law decoded as A-law is detected', () => {
    const bytes = writeSamples(encodeText(text, 8000), 'mulaw');
    expect(decodeSamples(readSamples(bytes, 'alaw'), 8000).text).not.toBe(text);
  });
});

describe('the decoder', () => {
  it('hears the same in pieces of any length', () => {
    const samples = join(silence(33, 16000), encodeText('Any framing, any time. ü', 16000), silence(100, 16000));
    const whole = new ModemDecoder(16000).push(samples);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 1500 }), { minLength: 1, maxLength: 60 }), (lengths) => {
        const decoder = new ModemDecoder(16000);
        const events = [];
        let at = 0;
        for (const length of lengths) {
          events.push(...decoder.push(samples.subarray(at, at + length)));
          at = Math.min(samples.length, at + length);
        }
        events.push(...decoder.push(samples.subarray(at)));
        expect(events).toEqual(whole);
        expect(decoder.position).toBe(samples.length);
      }),
      { numRuns: 60 },
    );
  });

  for (const sampleRate of rates) {
    it(`knows where each character is, within a millisecond, at ${sampleRate} Hz`, () => {
      const lead = 250;
      const samples = join(silence(lead, sampleRate), encodeText('When?', sampleRate), silence(100, sampleRate));
      const characters = new ModemDecoder(sampleRate).push(samples).filter(({ type }) => type === 'character');
      expect(characters).toHaveLength(5);
      characters.forEach((event, index) => {
        if (event.type !== 'character') return;
        const start = lead + index * characterMs;
        expect(Math.abs((event.start / sampleRate) * 1000 - start)).toBeLessThan(1);
        expect(Math.abs((event.end / sampleRate) * 1000 - (start + 70))).toBeLessThan(1);
      });
    });
  }

  it('tells a voice at its first 10 ms, once for each stretch of sound', () => {
    const decoder = new ModemDecoder(8000);
    const events = decoder.push(
      join(silence(200, 8000), encodeText('Hi', 8000), silence(300, 8000), encodeText('you', 8000)),
    );
    const voices = events.flatMap((event) => (event.type === 'voice' ? [Math.round(event.at / 80)] : []));
    expect(voices).toEqual([20, 66]);
    const early = new ModemDecoder(8000);
    expect(early.push(encodeText('H', 8000).subarray(0, 100)).map(({ type }) => type)).toEqual(['voice']);
  });

  it('takes noise for a voice but never for text', () => {
    for (const length of [70, 120, 300, 2000]) {
      const events = new ModemDecoder(8000).push(join(silence(100, 8000), noise(length, 8000), silence(300, 8000)));
      expect(events.map(({ type }) => type)).toContain('voice');
      expect(events.map(({ type }) => type)).not.toContain('character');
    }
  });

  it('takes what Opus smears before an onset for nothing, wherever in a frame it begins', () => {
    const rate = 48_000;
    const opus = new OpusScript(rate, 1, OpusScript.Application.VOIP);
    for (let offset = 0; offset < 20; offset++) {
      const samples = join(noise(300 + offset, rate, 0.0005), encodeText('what is', rate), silence(200, rate));
      const frames = Array.from({ length: Math.floor(samples.length / 960) }, (_, at) => {
        const frame = writeSamples(samples.slice(at * 960, (at + 1) * 960), 'linear16');
        return readSamples(Uint8Array.from(opus.decode(opus.encode(Buffer.from(frame), 960))), 'linear16');
      });
      expect([offset, decodeSamples(join(...frames), rate).text]).toEqual([offset, 'what is']);
    }
    opus.delete();
  });

  it('hears text right after noise, and silence is nothing', () => {
    const samples = join(noise(300, 8000), silence(150, 8000), encodeText('After.', 8000));
    expect(decodeSamples(samples, 8000).text).toBe('After.');
    expect(new ModemDecoder(8000).push(silence(5000, 8000))).toEqual([]);
    expect(decodeSamples(new Int16Array(0), 8000)).toEqual({
      text: '',
      words: [],
      utterances: [],
      cut: false,
      damaged: false,
    });
  });
});

describe('what was heard of a recording that was cut', () => {
  const text = 'Cut anywhere.';
  const samples = encodeText(text, 8000);

  it('is the characters heard to their end, whole, at every sample', () => {
    for (let at = 0; at <= samples.length; at += 37) {
      const heard = decodeSamples(samples.subarray(0, at), 8000);
      const ms = at / 8;
      const least = Math.floor((ms - 72 + characterMs) / characterMs);
      const most = Math.floor((ms - 66 + characterMs) / characterMs);
      expect(text.startsWith(heard.text)).toBe(true);
      expect(heard.text.length).toBeGreaterThanOrEqual(Math.max(0, least));
      expect(heard.text.length).toBeLessThanOrEqual(Math.max(0, most));
      expect(heard.damaged).toBe(false);
    }
  });

  it('leaves out the word that the cut fell into', () => {
    const heard = decodeSamples(samples.subarray(0, 8 * (5 * characterMs + 20)), 8000);
    expect(heard).toMatchObject({ text: 'Cut a', cut: true });
    expect(heard.words.map((word) => word.text)).toEqual(['Cut']);
  });

  it('parts what was said before and after a barge-in', () => {
    const cut = samples.subarray(0, 8 * 500);
    const heard = decodeSamples(join(cut, silence(700, 8000), encodeText('Sure, go ahead.', 8000)), 8000);
    expect(heard.utterances).toEqual(['Cut an', 'Sure, go ahead.']);
    expect(heard.damaged).toBe(false);
    const [first, second] = heard.words;
    expect(first).toMatchObject({ text: 'Cut' });
    expect(second?.text).toBe('Sure,');
    expect(Math.abs((second?.startMs ?? 0) - 1200)).toBeLessThan(1);
  });

  it('lasts 80 ms for each byte of the text', () => {
    expect(durationMs('abc')).toBe(240);
    expect(durationMs('é')).toBe(160);
    for (const rate of rates) expect(encodeText('abc', rate).length).toBe(Math.round(0.24 * rate));
  });
});
