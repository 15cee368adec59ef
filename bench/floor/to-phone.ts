// A voice in linear16 at 24 kHz for a phone, by hand: one low-pass filter, of which every third value is computed, and a table.
const taps = 96;
const attenuationDb = 80;

/** A windowed sinc at a sixth of the sample rate, Kaiser: about as steep as what speech is filtered with. */
const half = ((): Float64Array => {
  const beta = 0.1102 * (attenuationDb - 8.7);
  const values = Float64Array.from({ length: taps }, (_, at) => {
    const x = at - (taps - 1) / 2;
    const sinc = Math.sin((Math.PI * x) / 3) / (Math.PI * x);
    return sinc * bessel(beta * Math.sqrt(1 - (x / (taps / 2)) ** 2));
  });
  const sum = values.reduce((total, each) => total + each, 0);
  // It is symmetric.
  return values.subarray(0, taps / 2).map((each) => each / sum);
})();

/** The modified Bessel function of the first kind, order 0. */
function bessel(x: number): number {
  let [term, sum] = [1, 1];
  for (let k = 1; k < 40; k++) sum += term *= (x / 2 / k) ** 2;
  return sum;
}

/** mu-law of every 16-bit sample. */
const mulaw = Uint8Array.from({ length: 65_536 }, (_, at) => {
  const sample = at < 32_768 ? at : at - 65_536;
  const magnitude = Math.min(Math.abs(sample), 32_635) + 132;
  const exponent = 24 - Math.clz32(magnitude);
  return ~((sample < 0 ? 0x80 : 0) | (exponent << 4) | ((magnitude >> (exponent + 3)) & 0x0f)) & 0xff;
});

/** From pieces of a voice, each of whole samples and a multiple of three of them, to mu-law at 8 kHz. */
export function toPhone(): (bytes: Buffer) => Buffer {
  let line = new Float64Array(taps);
  return (bytes) => {
    const samples = new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
    if (line.length !== taps + samples.length) {
      const longer = new Float64Array(taps + samples.length);
      longer.set(line.subarray(-taps));
      line = longer;
    } else line.copyWithin(0, samples.length);
    line.set(samples, taps);
    const out = Buffer.allocUnsafe(samples.length / 3);
    for (let n = 0; n < out.length; n++) {
      let [even, odd] = [0, 0];
      for (let tap = 0, from = 3 * n + 3, to = from + taps - 1; tap < taps / 2; tap += 2, from += 2, to -= 2) {
        even += (half[tap] ?? 0) * ((line[from] ?? 0) + (line[to] ?? 0));
        odd += (half[tap + 1] ?? 0) * ((line[from + 1] ?? 0) + (line[to - 1] ?? 0));
      }
      const sum = even + odd;
      out[n] = mulaw[Math.round(Math.max(-32_768, Math.min(32_767, sum))) & 0xffff] ?? 0;
    }
    return out;
  };
}
