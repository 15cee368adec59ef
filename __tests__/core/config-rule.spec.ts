import { configProblem, type ConfigRule, type RulesOf } from '../../lib/core/config-rule.ts';
import { wireParameters } from '../../lib/core/wire-parameters.ts';

const rules: Readonly<Record<string, ConfigRule>> = {
  voiceId: { required: true },
  format: { oneOf: ['wav', 'mp3', 'pcm'] },
  sampleRate: { oneOf: [8000, 16000] },
  speed: { min: 0.5, max: 2 },
  volume: { min: 0 },
  instructions: { maxLength: 5 },
  scheduler: {},
  'options.speed': { min: 1, max: 2 },
  'options.silenceMs': { min: 0, integer: true, orFalse: true },
  'options.clean': { type: 'boolean' },
  'options.terms': { type: 'texts', maxLength: 2 },
  model: { type: 'text' },
};

const circular: { self?: object } = {};
circular.self = circular;

describe('configProblem', () => {
  const cases: readonly (readonly [string, object, string | undefined])[] = [
    ['passes what keeps every rule', { voiceId: 'v', format: 'wav', sampleRate: 8000, speed: 2, volume: 9 }, undefined],
    ['passes keys that are absent', { voiceId: 'v' }, undefined],
    ['passes any value of a key whose rule asks for nothing', { voiceId: 'v', scheduler: circular }, undefined],
    ['passes keys without a rule', { voiceId: 'v', other: {} }, undefined],
    ['refuses two letters exchanged', { voiceId: 'v', mdoel: 'm' }, 'there is no option mdoel: did you mean model?'],
    ['refuses a letter too few', { voiceId: 'v', voume: 1 }, 'there is no option voume: did you mean volume?'],
    ['refuses a letter too many', { voiceId: 'v', models: [] }, 'there is no option models: did you mean model?'],
    ['refuses a wrong letter', { voiceId: 'v', fornat: 'wav' }, 'there is no option fornat: did you mean format?'],
    [
      'refuses snake case',
      { voiceId: 'v', sample_rate: 8000 },
      'there is no option sample_rate: did you mean sampleRate?',
    ],
    ['refuses another case', { voiceid: 'v' }, 'there is no option voiceid: did you mean voiceId?'],
    ['refuses a misspelt group', { voiceId: 'v', optoins: {} }, 'there is no option optoins: did you mean options?'],
    ['passes a misspelt key without a value', { voiceId: 'v', mdoel: undefined }, undefined],
    ['names a key that is missing', {}, 'voiceId is missing'],
    ['takes an empty text for a missing one', { voiceId: '' }, 'voiceId is missing'],
    ['names all allowed values', { voiceId: 'v', format: 'ogg' }, 'format must be wav, mp3 or pcm, not "ogg"'],
    [
      'tells a number from a text',
      { voiceId: 'v', sampleRate: '8000' },
      'sampleRate must be 8000 or 16000, not "8000"',
    ],
    ['refuses a number below its range', { voiceId: 'v', speed: 0.4 }, 'speed must be a number from 0.5 to 2, not 0.4'],
    ['refuses NaN', { voiceId: 'v', speed: NaN }, 'speed must be a number from 0.5 to 2, not NaN'],
    ['refuses a number in text', { voiceId: 'v', speed: '1' }, 'speed must be a number from 0.5 to 2, not "1"'],
    ['refuses a bigint', { voiceId: 'v', speed: 1n }, 'speed must be a number from 0.5 to 2, not 1'],
    ['knows open ranges', { voiceId: 'v', volume: -1 }, 'volume must be a number from 0 to ∞, not -1'],
    [
      'refuses a text that is too long',
      { voiceId: 'v', instructions: '123456' },
      'instructions must be a text of at most 5 characters',
    ],
    [
      'refuses a number within that is out of its range',
      { voiceId: 'v', options: { speed: 3 } },
      'options.speed must be a number from 1 to 2, not 3',
    ],
    [
      'refuses a key that a group does not have',
      { voiceId: 'v', options: { sped: 1 } },
      'there is no option options.sped, only options.speed, options.silenceMs, options.clean, options.terms',
    ],
    [
      'refuses it in any of a list of groups',
      { voiceId: 'v', options: [{ speed: 1 }, { sped: 1 }] },
      'there is no option options.sped, only options.speed, options.silenceMs, options.clean, options.terms',
    ],
    ['passes a key without a value', { voiceId: 'v', options: { sped: undefined } }, undefined],
    ['passes what has nothing within', { voiceId: 'v', options: null }, undefined],
    [
      'refuses a fraction of what is whole',
      { voiceId: 'v', options: { silenceMs: 0.5 } },
      'options.silenceMs must be a whole number from 0 to ∞, or false, not 0.5',
    ],
    ['passes false where it switches off', { voiceId: 'v', options: { silenceMs: false } }, undefined],
    [
      'passes booleans and texts',
      { voiceId: 'v', model: 'm', options: { clean: false, terms: ['a', 'b'] } },
      undefined,
    ],
    [
      'refuses what is no boolean',
      { voiceId: 'v', options: { clean: 'yes' } },
      'options.clean must be true or false, not "yes"',
    ],
    ['refuses what is no text', { voiceId: 'v', model: ' ' }, 'model must be a text, not " "'],
    [
      'refuses an array with anything but texts',
      { voiceId: 'v', options: { terms: ['a', ''] } },
      'options.terms must be an array of texts, not ["a",""]',
    ],
    [
      'refuses too many entries',
      { voiceId: 'v', options: { terms: ['a', 'b', 'c'] } },
      'options.terms must have at most 2 entries',
    ],
  ];
  for (const [name, config, problem] of cases) {
    it(name, () => {
      expect(configProblem(config, rules)).toBe(problem);
    });
  }

  it('warns of a key that belongs in a group, and of no other without a rule', () => {
    const advice: string[] = [];
    const config = { voiceId: 'v', speed: 1.5, silenceMs: 100, clean: undefined, mine: 1, options: { speed: 1.2 } };
    expect(configProblem(config, rules, (sentence) => advice.push(sentence))).toBeUndefined();
    expect(advice).toEqual(['there is no option silenceMs: did you mean options.silenceMs?']);
  });
});

interface Config {
  readonly language?: string;
  readonly interim?: boolean;
  readonly languages?: readonly string[];
  readonly extra?: Readonly<Record<string, unknown>>;
  readonly options?: {
    readonly model?: string;
    readonly maxDelayMs?: number | false;
    readonly keyTerms?: readonly string[];
    readonly diarize?: boolean;
    readonly secret?: string;
    readonly limits?: object;
  };
}

const wire: RulesOf<Config> = {
  language: { default: 'en-US', wire: 'lang', toWire: (tag) => tag.toLowerCase() },
  interim: { type: 'boolean', default: true, wire: 'interim_results' },
  'options.model': { default: 'large', wire: true },
  'options.maxDelayMs': { min: 0, orFalse: true, wire: true, toWire: (ms) => (ms === false ? undefined : ms) },
  'options.keyTerms': { type: 'texts', wire: true },
  'options.diarize': { wire: 'diarize_model', toWire: (on) => (on ? 'latest' : undefined) },
  'options.secret': { type: 'text' },
};

/** Arrays and records have no keys of their own, so that a misspelled one is no rule. */
export const misspelled: RulesOf<Config> = {
  languages: { type: 'texts' },
  // @ts-expect-error an entry of an array
  'languages.0': { type: 'text' },
};
export const unknown: RulesOf<Config> = {
  // @ts-expect-error no key of the options
  'options.modle': { type: 'text' },
};

describe('wireParameters', () => {
  const cases: readonly (readonly [string, Config, object])[] = [
    ['fills defaults in, mapped like any value', {}, { lang: 'en-us', interim_results: true, model: 'large' }],
    [
      'finds keys in an object, and names them in snake case by their last part',
      { options: { model: 'small', maxDelayMs: 0, keyTerms: ['a', 'b'] } },
      { lang: 'en-us', interim_results: true, model: 'small', max_delay_ms: 0, key_terms: ['a', 'b'] },
    ],
    [
      'tells false, but not what is mapped to nothing',
      { interim: false, options: { maxDelayMs: false, diarize: true } },
      { lang: 'en-us', interim_results: false, model: 'large', diarize_model: 'latest' },
    ],
    [
      'tells nothing of keys without a wire name, or without a rule',
      { options: { secret: 's', limits: {} } },
      { lang: 'en-us', interim_results: true, model: 'large' },
    ],
  ];
  for (const [name, config, parameters] of cases) {
    it(name, () => {
      expect(wireParameters(config, wire)).toStrictEqual(parameters);
    });
  }

  it('keeps the order of the table: an address reads the same each time', () => {
    expect(Object.keys(wireParameters({ options: { keyTerms: [], model: 'm' }, language: 'x' }, wire))).toEqual([
      'lang',
      'interim_results',
      'model',
      'key_terms',
    ]);
  });
});
