import { negotiateFormat, type AudioFormat, type AudioMetadata } from 'rxvoice/audio';

const linear16 = (sampleRate: number, channels: number = 1): AudioMetadata => ({
  encoding: 'linear16',
  sampleRate,
  channels,
  bitDepth: 16,
});
const mulaw: AudioMetadata = { encoding: 'mulaw', sampleRate: 8000, channels: 1, bitDepth: 8 };
const mp3: AudioMetadata = { encoding: 'mp3', sampleRate: 24000, channels: 1 };

describe('negotiateFormat: the same format passes untouched', () => {
  const passing: readonly (readonly [name: string, source: AudioMetadata, accepts: readonly AudioFormat[]])[] = [
    ['listed', linear16(16000), [{ encoding: 'linear16', sampleRates: [16000] }]],
    ['any rate', linear16(22050), [{ encoding: 'linear16' }]],
    [
      'listed last, although another row comes first',
      mulaw,
      [
        { encoding: 'linear16', sampleRates: [8000, 16000] },
        { encoding: 'mulaw', sampleRates: [8000] },
      ],
    ],
    ['stereo where it is taken', linear16(48000, 2), [{ encoding: 'linear16', channels: [1, 2] }]],
    ['compressed, when taken', mp3, [{ encoding: 'mp3' }]],
    [
      'compressed in a container, when taken',
      { encoding: 'opus', sampleRate: 48000, channels: 1, container: 'webm' },
      [{ encoding: 'opus', containers: ['ogg', 'webm'] }],
    ],
    ['mp3 in the container mp3 is mp3', { ...mp3, container: 'mp3' }, [{ encoding: 'mp3' }]],
    ['mp3 is mp3 in the container mp3', mp3, [{ encoding: 'mp3', containers: ['mp3'] }]],
    [
      'WAV where WAV is taken',
      { ...linear16(16000), container: 'wav' },
      [{ encoding: 'linear16', containers: ['wav'] }],
    ],
  ];
  for (const [name, source, accepts] of passing) {
    it(name, () => {
      const negotiation = negotiateFormat(source, accepts);
      expect(negotiation?.passthrough).toBe(true);
      expect(negotiation?.target).toBe(source);
    });
  }
});

describe('negotiateFormat: otherwise the best target', () => {
  const choices: readonly (readonly [
    name: string,
    source: AudioMetadata,
    accepts: readonly AudioFormat[],
    target: AudioMetadata,
  ])[] = [
    [
      'the lowest rate that keeps the bandwidth',
      linear16(24000),
      [{ encoding: 'linear16', sampleRates: [8000, 48000, 32000, 16000] }],
      linear16(32000),
    ],
    [
      'else the highest',
      linear16(48000),
      [{ encoding: 'linear16', sampleRates: [8000, 24000, 16000] }],
      linear16(24000),
    ],
    [
      'no needless upsampling, whatever row is first',
      mulaw,
      [
        { encoding: 'linear16', sampleRates: [48000] },
        { encoding: 'linear16', sampleRates: [8000] },
      ],
      linear16(8000),
    ],
    [
      'lossless before companded, even where the phone’s rate would fit',
      mulaw,
      [
        { encoding: 'alaw', sampleRates: [8000] },
        { encoding: 'linear16', sampleRates: [16000] },
      ],
      linear16(16000),
    ],
    ['mulaw where nothing better is taken', linear16(24000), [{ encoding: 'mulaw', sampleRates: [8000] }], mulaw],
    [
      'bandwidth before 32 bits',
      { encoding: 'linear32', sampleRate: 48000, channels: 1 },
      [
        { encoding: 'linear32', sampleRates: [16000] },
        { encoding: 'linear16', sampleRates: [48000] },
      ],
      linear16(48000),
    ],
    [
      'the source’s encoding before another lossless one',
      linear16(24000),
      [
        { encoding: 'linear32', sampleRates: [16000] },
        { encoding: 'linear16', sampleRates: [16000] },
      ],
      linear16(16000),
    ],
    [
      'the row that is first, between equals',
      mulaw,
      [{ encoding: 'linear32' }, { encoding: 'linear16' }],
      { encoding: 'linear32', sampleRate: 8000, channels: 1, bitDepth: 32 },
    ],
    ['mono where a row says nothing of channels', linear16(16000, 2), [{ encoding: 'linear16' }], linear16(16000)],
    [
      'the source’s channels where they are taken',
      linear16(44100, 2),
      [{ encoding: 'linear16', sampleRates: [48000], channels: [1, 2] }],
      linear16(48000, 2),
    ],
    [
      'the preferred channels where they are not',
      linear16(48000, 6),
      [{ encoding: 'linear16', channels: [2, 1] }],
      linear16(48000, 2),
    ],
    [
      'the header off a WAV stream',
      { ...linear16(16000), container: 'wav' },
      [{ encoding: 'linear16' }],
      linear16(16000),
    ],
    [
      'a header on where only WAV is taken',
      linear16(16000),
      [{ encoding: 'linear16', containers: ['ogg', 'wav'] }],
      { ...linear16(16000), container: 'wav' },
    ],
    [
      'a rate that can be resampled to',
      linear16(44100),
      [{ encoding: 'linear16', sampleRates: [47999, 16000] }],
      linear16(16000),
    ],
    [
      'samples rather than a compressed row',
      linear16(16000),
      [
        { encoding: 'opus', containers: ['ogg'] },
        { encoding: 'linear16', sampleRates: [8000] },
      ],
      linear16(8000),
    ],
  ];
  for (const [name, source, accepts, target] of choices) {
    it(name, () => expect(negotiateFormat(source, accepts)).toEqual({ target, passthrough: false }));
  }
});

describe('negotiateFormat: undefined when nothing can work', () => {
  const hopeless: readonly (readonly [name: string, source: AudioMetadata, accepts: readonly AudioFormat[]])[] = [
    ['compressed audio that is not taken', mp3, [{ encoding: 'linear16' }, { encoding: 'opus' }]],
    ['compressed audio of another rate', mp3, [{ encoding: 'mp3', sampleRates: [44100] }]],
    [
      'compressed audio in another container',
      { encoding: 'opus', sampleRate: 48000, channels: 1, container: 'webm' },
      [{ encoding: 'opus', containers: ['ogg'] }],
    ],
    [
      'samples in a container that is not WAV',
      { ...linear16(16000), container: 'mp4' },
      [{ encoding: 'linear16', sampleRates: [8000] }],
    ],
    ['only compressed audio taken', linear16(16000), [{ encoding: 'mp3' }]],
    ['no rate that can be resampled to', linear16(44100), [{ encoding: 'linear16', sampleRates: [47999] }]],
    ['nothing taken', linear16(16000), []],
    [
      'empty lists',
      linear16(16000),
      [
        { encoding: 'linear16', sampleRates: [] },
        { encoding: 'linear16', channels: [] },
      ],
    ],
  ];
  for (const [name, source, accepts] of hopeless) {
    it(name, () => expect(negotiateFormat(source, accepts)).toBe(undefined));
  }
});
