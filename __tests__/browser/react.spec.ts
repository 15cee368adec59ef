// Slow: a conversation in the page, and the bundles of two pages.
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { startReactSample, type ReactSample } from '../../samples/react/server.ts';
import { silence } from '../../samples/sandbox/modem.ts';
import { TestBrowser } from './support/browser.ts';
import { violations } from './support/violations.ts';
import './support/react-page-types.ts';

const sampleRate = 48_000;

describe('rxvoice/react in Chromium', () => {
  let browser: TestBrowser;
  let page: Page;
  beforeAll(async () => {
    const entry = fileURLToPath(new URL('support/react-page.ts', import.meta.url));
    const [started, { outputFiles }] = await Promise.all([
      TestBrowser.start(),
      build({
        ...{ entryPoints: [entry], bundle: true, write: false, format: 'iife', platform: 'browser', target: 'es2022' },
        ...{ conditions: ['rxvoice-source'], external: ['@anthropic-ai/sdk', '@msgpack/msgpack', '@mlc-ai/web-llm'] },
      }),
    ]);
    browser = started;
    page = await browser.open();
    await page.addScriptTag({ content: outputFiles[0]?.text ?? '' });
  });
  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
  });
  afterEach(() => expect(browser.failures).toEqual([]));

  describe('useObservable', () => {
    for (const strict of [false, true]) {
      it(`shows the newest value, subscribed once while mounted${strict ? ', under StrictMode too' : ''}`, async () => {
        const seen = await page.evaluate(async (isStrict) => {
          const { act, react, client, reactive, hooks } = reactKit;
          const { createElement, StrictMode } = react;
          const values$ = new reactive.Subject<string>();
          let subscribers = 0;
          const counted$ = new reactive.Observable<string>((subscriber) => {
            subscribers++;
            const subscription = values$.subscribe(subscriber);
            return () => {
              subscribers--;
              subscription.unsubscribe();
            };
          });
          const Show = () => createElement('b', null, hooks.useObservable(counted$, 'nothing yet'));
          const element = document.createElement('div');
          const root = client.createRoot(element);
          const seen: (string | number | null)[] = [];
          const look = () => seen.push(element.textContent, subscribers);
          await act(() =>
            root.render(isStrict ? createElement(StrictMode, null, createElement(Show)) : createElement(Show)),
          );
          look();
          await act(() => values$.next('one'));
          look();
          await act(() => {
            values$.next('two');
            values$.next('three');
          });
          look();
          await act(() => values$.complete());
          look();
          await act(() => root.unmount());
          look();
          return seen;
        }, strict);
        expect(seen).toEqual(['nothing yet', 1, 'one', 1, 'three', 1, 'three', 0, '', 0]);
      });
    }

    it('shows what a stream says at once, before anything is painted', async () => {
      const seen = await page.evaluate(async () => {
        const { act, react, client, reactive, hooks } = reactKit;
        const state$ = new reactive.BehaviorSubject('there already');
        const Show = () => react.createElement('b', null, hooks.useObservable(state$, 'nothing'));
        const element = document.createElement('div');
        const root = client.createRoot(element);
        await act(() => root.render(react.createElement(Show)));
        const text = element.textContent;
        await act(() => root.unmount());
        return [text, state$.observed];
      });
      expect(seen).toEqual(['there already', false]);
    });

    it('starts over with another stream, and releases the one before', async () => {
      const seen = await page.evaluate(async () => {
        const { act, react, client, reactive, hooks } = reactKit;
        const [one$, two$] = [new reactive.Subject<string>(), new reactive.Subject<string>()];
        const Show = ({ of$, initial }: { of$: typeof one$; initial: string }) =>
          react.createElement('b', null, hooks.useObservable(of$, initial));
        const element = document.createElement('div');
        const root = client.createRoot(element);
        const render = (of$: typeof one$, initial: string) =>
          act(() => root.render(react.createElement(Show, { of$, initial })));
        await render(one$, 'first');
        await act(() => one$.next('from one'));
        await render(one$, 'other initial');
        const kept = element.textContent;
        await render(two$, 'second');
        const fresh = element.textContent;
        await act(() => one$.next('too late'));
        await act(() => two$.next('from two'));
        const last = element.textContent;
        const observed = [one$.observed, two$.observed];
        await act(() => root.unmount());
        return [kept, fresh, last, ...observed];
      });
      expect(seen).toEqual(['from one', 'second', 'from two', false, true]);
    });

    it('shows the latest error of a pipeline and change of its history, read anew at each render', async () => {
      const seen = await page.evaluate(async () => {
        const { act, react, client, library, hooks, cast } = reactKit;
        const pipeline = new library.Pipeline(cast());
        let renders = 0;
        const Show = () => {
          renders++;
          const error = hooks.useObservable(pipeline.errors$);
          const change = hooks.useObservable(pipeline.history.changes$);
          return react.createElement('b', null, `${error?.message ?? 'no error'}, ${change?.type ?? 'no change'}`);
        };
        const element = document.createElement('div');
        const root = client.createRoot(element);
        const seen: (string | number | null)[] = [];
        const render = async () => {
          await act(() => root.render(react.createElement(Show)));
          seen.push(element.textContent);
        };
        await render();
        pipeline.once('input.muted', () => {
          throw new Error('it broke');
        });
        await act(() => pipeline.mute());
        seen.push(element.textContent);
        await act(() => pipeline.history.import([{ id: '', role: 'user', text: 'Hello' }]));
        await render();
        await act(() => root.unmount());
        await pipeline.dispose();
        return [...seen, renders];
      });
      expect(seen).toEqual([
        'no error, no change',
        'a callback for input.muted threw: it broke, no change',
        'a callback for input.muted threw: it broke, added',
        4,
      ]);
    });

    it('throws what a stream fails with, for the error boundary', async () => {
      const seen = await page.evaluate(async () => {
        const { act, react, client, reactive, hooks } = reactKit;
        const values$ = new reactive.Subject<string>();
        const Show = () => react.createElement('b', null, hooks.useObservable(values$, 'fine'));
        class Boundary extends react.Component<{ children: React.ReactNode }, { message: string }> {
          override state = { message: '' };
          static getDerivedStateFromError(error: Error) {
            return { message: `caught ${error.message}` };
          }
          override render() {
            return this.state.message || this.props.children;
          }
        }
        const element = document.createElement('div');
        const root = client.createRoot(element, { onCaughtError: () => undefined });
        await act(() => root.render(react.createElement(Boundary, null, react.createElement(Show))));
        await act(() => values$.error(new Error('the stream')));
        const text = element.textContent;
        await act(() => root.unmount());
        return [text, values$.observed];
      });
      expect(seen).toEqual(['caught the stream', false]);
    });
  });

  describe('useTranscript, useAudioLevel, useDevices', () => {
    it('show what was said, how loud it is and which devices there are, while mounted', async () => {
      const seen = await page.evaluate(async () => {
        const { act, react, client, reactive, library, hooks, cast } = reactKit;
        const microphone = new library.MicrophoneInput();
        await microphone.initialize();
        const pipeline = new library.Pipeline(cast());
        const said: string[][] = [];
        const peaks: number[] = [];
        const devices: ReturnType<typeof hooks.useDevices>[] = [];
        const Show = () => {
          said.push(hooks.useTranscript(pipeline).map(({ speaker, text }) => `${speaker}: ${text}`));
          peaks.push(hooks.useAudioLevel(microphone).peak);
          devices.push(hooks.useDevices(pipeline));
          return null;
        };
        const root = client.createRoot(document.createElement('div'));
        const until = (isDone: () => boolean) =>
          reactive.firstValueFrom(reactive.interval(10).pipe(reactive.filter(isDone)));
        await act(() => root.render(react.createElement(Show)));
        const first = [said.at(-1), peaks.at(-1), devices[0]];
        await act(async () => {
          pipeline.history.import([{ id: '', role: 'user', text: 'Hello' }]);
          await microphone.start();
          await until(() => (devices.at(-1)?.microphones.length ?? 0) > 0);
          await until(() => peaks.some((peak) => peak > 0.05));
        });
        const last = devices.at(-1);
        const renders = peaks.length;
        await act(() => root.unmount());
        await reactive.firstValueFrom(microphone.audio$.pipe(reactive.skip(10)));
        const after = peaks.length - renders;
        await microphone.dispose();
        await pipeline.dispose();
        const named = last?.microphones.every(({ label }) => label !== '');
        return { first, said: said.at(-1), named, permission: last?.permission, after };
      });
      expect(seen).toEqual({
        first: [[], 0, { microphones: [], speakers: [], permission: 'unknown' }],
        ...{ said: ['user: Hello'], named: true, permission: 'granted', after: 0 },
      });
    });
  });

  describe('usePipeline', () => {
    /** A component that shows the hook's status, and keeps the hook for the test. */
    async function prepare(): Promise<void> {
      await page.evaluate(() => {
        const { react, client, hooks, cast } = reactKit;
        const made: ReturnType<typeof cast>[] = [];
        const shown: string[] = [];
        const hook: { current?: ReturnType<typeof hooks.usePipeline> } = {};
        const Talk = () => {
          const current = hooks.usePipeline(() => {
            const next = cast();
            made.push(next);
            return { providers: next.providers };
          });
          react.useEffect(() => {
            hook.current = current;
            const status = `${current.state} ${current.agentState} ${current.error?.message ?? ''}`.trim();
            if (shown.at(-1) !== status) shown.push(status);
          });
          return null;
        };
        const root = client.createRoot(document.createElement('div'));
        const used = () => {
          const { pipeline } = hook.current ?? {};
          const found = made.filter(({ input }) => input.life.length > 0);
          return { pipeline, inputs: found.map(({ input }) => input), made, shown };
        };
        Object.assign(globalThis, { talk: { Talk, root, hook, used } });
      });
    }
    beforeEach(prepare);

    for (const strict of [false, true]) {
      it(`runs a conversation, and is disposed with its component${strict ? ', under StrictMode too' : ''}`, async () => {
        const seen = await page.evaluate(async (isStrict) => {
          const { act, react, reactive } = reactKit;
          const { Talk, root, hook, used } = talk;
          const element = react.createElement(Talk);
          await act(() => root.render(isStrict ? react.createElement(react.StrictMode, null, element) : element));
          const { pipeline } = used();
          const before = [used().inputs.length, pipeline?.state];
          await act(() => hook.current?.start());
          const running = [pipeline?.state, hook.current?.pipeline === pipeline];
          const greeted = reactive.firstValueFrom(
            pipeline?.speech$.pipe(reactive.filter(({ type }) => type === 'speech.started')) ?? reactive.EMPTY,
          );
          await act(async () => {
            pipeline?.say('hello');
            await greeted;
          });
          await act(() => hook.current?.stop());
          const stopped = pipeline?.state;
          await act(() => root.unmount());
          await pipeline?.dispose();
          return {
            before,
            running,
            stopped,
            after: pipeline?.state,
            lives: used().inputs.map(({ life }) => life),
            shown: used().shown,
          };
        }, strict);
        expect(seen).toEqual({
          before: [0, 'idle'],
          running: ['running', true],
          stopped: 'ready',
          after: 'disposed',
          lives: [['initialize', 'dispose']],
          shown: seen.shown,
        });
        expect(seen.shown.slice(0, 2)).toEqual(['idle idle', 'starting idle']);
        expect(seen.shown).toContain('running speaking');
        expect(seen.shown.at(-1)).toBe('idle idle');
      });
    }

    it('that is unmounted while it starts comes to nothing, without an error', async () => {
      const seen = await page.evaluate(async () => {
        const { act, react } = reactKit;
        const { Talk, root, hook, used } = talk;
        await act(() => root.render(react.createElement(react.StrictMode, null, react.createElement(Talk))));
        const { pipeline, made } = used();
        let open = (): void => undefined;
        const ready = new Promise<void>((resolve) => (open = resolve));
        for (const { input } of made) input.ready = ready;
        let started: Promise<void> | undefined;
        await act(async () => {
          started = hook.current?.start();
          await Promise.resolve();
        });
        const during = [hook.current?.state, pipeline?.state];
        await act(() => root.unmount());
        open();
        await Promise.all([started, pipeline?.dispose()]);
        return { during, after: pipeline?.state, lives: used().inputs.map(({ life }) => life), shown: used().shown };
      });
      expect(seen).toEqual({
        during: ['starting', 'idle'],
        after: 'disposed',
        // The second: it was made ready after it had been released.
        lives: [['initialize', 'dispose', 'dispose']],
        shown: ['idle idle', 'starting idle'],
      });
    });

    it('shows why it did not start, until it is started again', async () => {
      const shown = await page.evaluate(async () => {
        const { act, react, library } = reactKit;
        const { Talk, root, hook, used } = talk;
        await act(() => root.render(react.createElement(Talk)));
        const [first] = used().made;
        if (first) first.input.ready = Promise.reject(new library.VoiceError('no microphone', { code: 'forbidden' }));
        await act(() => hook.current?.start());
        if (first) first.input.ready = Promise.resolve();
        await act(() => hook.current?.start());
        await act(() => root.unmount());
        return used().shown;
      });
      expect(shown.slice(0, 4)).toEqual([
        'idle idle',
        'starting idle',
        expect.stringMatching(/^idle idle .*no microphone/),
        'starting idle',
      ]);
      expect(shown.at(-1)).toMatch(/^running \w+$/);
    });

    it('stopped before it has started is idle, and no error; the last word counts', async () => {
      const seen = await page.evaluate(async () => {
        const { act, react } = reactKit;
        const { Talk, root, hook, used } = talk;
        await act(() => root.render(react.createElement(Talk)));
        await act(async () => {
          await Promise.all([hook.current?.start(), hook.current?.stop()]);
        });
        const stopped = [hook.current?.state, hook.current?.error];
        await act(async () => {
          await Promise.all([hook.current?.start(), hook.current?.stop(), hook.current?.start()]);
        });
        const started = hook.current?.state;
        await act(() => root.unmount());
        return { stopped, started, state: used().pipeline?.state };
      });
      expect(seen).toMatchObject({ stopped: ['idle', undefined], started: 'running' });
    });

    it('follows a pipeline that is started and stopped by others', async () => {
      const seen = await page.evaluate(async () => {
        const { act, react } = reactKit;
        const { Talk, root, hook, used } = talk;
        await act(() => root.render(react.createElement(Talk)));
        const { pipeline } = used();
        await act(() => pipeline?.start());
        const started = hook.current?.state;
        await act(() => pipeline?.stop());
        const stopped = [hook.current?.state, hook.current?.agentState];
        await act(() => root.unmount());
        return [started, ...stopped];
      });
      expect(seen).toEqual(['running', 'idle', 'idle']);
    });

    it('that was hidden, and is shown again, has another pipeline', async () => {
      const seen = await page.evaluate(async () => {
        const { act, react } = reactKit;
        const { Talk, root, hook, used } = talk;
        const show = (mode: 'visible' | 'hidden') =>
          act(() => root.render(react.createElement(react.Activity, { mode, children: react.createElement(Talk) })));
        await show('visible');
        const { pipeline: first } = used();
        await act(() => hook.current?.start());
        await show('hidden');
        await first?.dispose();
        const hidden = first?.state;
        await show('visible');
        await act(() => hook.current?.start());
        const { pipeline: second } = used();
        const shown = [second === first, second?.state, hook.current?.state];
        await act(() => root.unmount());
        return [hidden, ...shown];
      });
      expect(seen).toEqual(['disposed', false, 'running', 'running']);
    });
  });
});

describe('the React sample in Chromium', () => {
  let browser: TestBrowser;
  let sample: ReactSample;
  beforeAll(async () => {
    const microphone = { samples: Int16Array.from(silence(5_000, sampleRate)), sampleRate };
    [browser, sample] = await Promise.all([TestBrowser.start({ microphone }), startReactSample()]);
  });
  afterAll(async () => {
    await browser[Symbol.asyncDispose]();
    await sample[Symbol.asyncDispose]();
  });

  it('converses: what is typed is answered, and Stop ends it; without keys the microphone stays off', async () => {
    const page = await browser.open({ url: sample.url });
    await page.evaluate(() => {
      navigator.mediaDevices.getUserMedia = () => Promise.reject(new Error('nobody may open the microphone'));
    });
    await page.getByText('Your microphone stays off').waitFor();
    const status = page.getByRole('status');
    await page.getByRole('button', { name: 'Start' }).click();
    await status.filter({ hasText: 'listening' }).waitFor();
    await page.getByLabel('Say it by hand').fill('count to 3');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('[data-who=user]', { hasText: 'count to 3' }).waitFor();
    await page.locator('[data-who=agent]', { hasText: '1, 2, 3' }).waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await violations(page)).toEqual([]);
    }
    await page.getByRole('button', { name: 'Stop' }).click();
    await status.filter({ hasText: 'idle' }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(browser.failures).toEqual([]);
    expect(sample.sandbox?.records().every(({ proxied }) => !proxied)).toBe(true);
    await page.close();
  });

  it.each([
    ['light', 1_100],
    ['light', 360],
    ['dark', 1_100],
    ['dark', 360],
  ] as const)('is easy to read and to touch, and nothing hangs over: %s, %i px wide', async (colorScheme, width) => {
    const page = await browser.open({ url: sample.url });
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.setViewportSize({ width, height: 740 });
    await page.getByRole('button', { name: 'Start' }).click();
    await page.getByRole('status').filter({ hasText: 'listening' }).waitFor();
    await page.getByLabel('Say it by hand').fill('count to 9');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('[data-who=agent]', { hasText: '8, 9' }).waitFor();
    expect(await violations(page, 'all')).toEqual([]);
    const { wide, small } = await page.evaluate(() => ({
      wide: document.documentElement.scrollWidth - innerWidth,
      small: [...document.querySelectorAll('button, input')]
        .filter((each) => each.getBoundingClientRect().height < 44)
        .map(({ outerHTML }) => outerHTML),
    }));
    expect([wide, small]).toEqual([0, []]);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.close();
  });
});
