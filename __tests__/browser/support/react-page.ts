import * as react from 'react';
import * as client from 'react-dom/client';
import * as reactive from 'rxjs';
import * as library from 'rxvoice';
import * as hooks from 'rxvoice/react';
import * as testing from 'rxvoice/testing';

/** An input that starts when it is told to, and counts what becomes of it. */
export class PatientInput extends testing.FakeInput {
  readonly life: string[] = [];
  /** What `initialize()` waits for; an error refuses it. */
  ready: Promise<void> = Promise.resolve();

  protected override async onInitialize(): Promise<void> {
    this.life.push('initialize');
    await this.ready;
  }

  protected override onDispose(): Promise<void> {
    this.life.push('dispose');
    return Promise.resolve();
  }
}

/** Providers that say nothing by themselves, the input first. */
export function cast(): { readonly input: PatientInput; readonly providers: library.PipelineOptions['providers'] } {
  const input = new PatientInput();
  const { FakeLLM, FakeOutput, FakeSTT, FakeTTS } = testing;
  return { input, providers: [input, new FakeSTT(), new FakeLLM(), new FakeTTS(), new FakeOutput()] };
}

/** Lets React do all that follows from some work. */
export async function act(work: () => unknown): Promise<void> {
  await react.act(async () => {
    await work();
  });
}

const kit = { act, react, client, reactive, library, hooks, testing, cast };

declare global {
  /** What pages of React tests have: everything from one bundle, so that there is one React. */
  var reactKit: typeof kit;
}

Object.assign(globalThis, { reactKit: kit, IS_REACT_ACT_ENVIRONMENT: true });
