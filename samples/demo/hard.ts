import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { VoiceEvent } from 'rxvoice';
import { marbleDiagram } from '../marbles/svg.ts';
import { Timeline } from '../marbles/timeline.ts';
import { HardCall } from './hard-call.ts';
import { writeRecording } from './recording.ts';
import { trials } from './trials.ts';

/** What came of one trial. */
export interface TrialSummary {
  readonly name: string;
  readonly said: readonly string[];
  /** Read back from the samples that the output played. */
  readonly heard: string;
  /** What is wrong. */
  readonly faults: readonly string[];
}

/** What came of the hard call. */
export interface HardSummary {
  readonly trials: readonly TrialSummary[];
  readonly history: readonly { readonly role: string; readonly content: string }[];
  readonly files: { readonly recording: string; readonly diagram: string };
  readonly faults: readonly string[];
}

/** When the first trial's connection drops, in messages of the service: 1.5 s into the sentence. */
const dropsAfter = 8;

/** Makes the hard call, on the sandbox; `print` gets each line of its report, `watch` each event. */
export async function hardDemo(
  out: string,
  print: (line: string) => void,
  watch: (event: VoiceEvent) => void,
): Promise<HardSummary> {
  const files = { recording: join(out, 'hard.wav'), diagram: join(out, 'hard.svg') };
  const call = await HardCall.open(
    join(out, 'hard-caller.wav'),
    trials.flatMap(({ lines }) => lines),
  );
  try {
    const watching = call.pipeline.events$.subscribe(watch);
    call.sandbox.setFault('alpha-flux', { kind: 'dropAfter', messages: dropsAfter, times: 1 });
    await call.begin();
    const summaries: TrialSummary[] = [];
    for (const { name, lines, run } of trials) {
      print('');
      print(name);
      const since = Date.now();
      const faults: string[] = [];
      const expect = (holds: boolean, fault: string): void => {
        if (!holds) faults.push(fault);
      };
      const isOver = await run(call, since, expect).then(
        () => true,
        (error: unknown) => {
          faults.push(String(error));
          return false;
        },
      );
      const heard = call.readBack(since);
      for (const line of lines) print(`  said         ${line}`);
      print(`  in the audio ${heard}`);
      print(faults.length === 0 ? '  well' : faults.map((fault) => `  FAULT: ${fault}`).join('\n'));
      summaries.push({ name, said: lines, heard, faults });
      // What the caller says next belongs to a trial that has not come to its end.
      if (!isOver) break;
    }
    watching.unsubscribe();
    const { record } = call;
    await writeRecording(files.recording, record);
    await writeFile(files.diagram, marbleDiagram(new Timeline(record.events)));
    const history = record.history.map(({ role, content }) => ({ role, content }));
    const errors = record.events.flatMap((event) =>
      // A model that retires still answers.
      event.type === 'error' && event.code !== 'retiring' ? [`error: ${event.message}`] : [],
    );
    const faults = summaries.flatMap((trial) => trial.faults.map((fault) => `${trial.name}: ${fault}`));
    return { trials: summaries, history, files, faults: [...faults, ...errors] };
  } finally {
    await call.close();
  }
}
