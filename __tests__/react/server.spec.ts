import { createElement, type ReactElement } from 'react';
import { renderToString } from 'react-dom/server';
import { NEVER, Observable } from 'rxjs';
import { useObservable, usePipeline } from '../../lib/react/index.ts';
import { FakeInput, FakeLLM, FakeOutput, FakeSTT, FakeTTS } from '../../lib/testing/index.ts';

describe('rxvoice/react on a server', () => {
  it('useObservable renders the initial value, and subscribes to nothing', () => {
    let subscribed = false;
    const stream$ = new Observable<string>(() => {
      subscribed = true;
    });
    const Show = (): ReactElement => createElement('b', null, useObservable(stream$, 'at first'));
    expect(renderToString(createElement(Show))).toBe('<b>at first</b>');
    expect(subscribed).toBe(false);
  });

  it('usePipeline renders a pipeline at rest, whose providers nobody touches', () => {
    const input = new FakeInput();
    const make = () => ({ providers: [input, new FakeSTT(), new FakeLLM(), new FakeTTS(), new FakeOutput()] });
    const Talk = (): ReactElement => {
      const { state, agentState, error, pipeline } = usePipeline(make);
      useObservable(NEVER, 0);
      return createElement('b', null, `${state} ${agentState} ${pipeline.state} ${String(error)}`);
    };
    expect(renderToString(createElement(Talk))).toBe('<b>idle idle idle undefined</b>');
    expect(input.isReady()).toBe(false);
  });
});
