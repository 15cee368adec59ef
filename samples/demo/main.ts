import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { marbleDiagram } from '../marbles/svg.ts';
import { Timeline } from '../marbles/timeline.ts';
import { runCall } from './call.ts';
import { hardDemo } from './hard.ts';
import { writeRecording } from './recording.ts';
import { environment, openServices } from './services.ts';
import { printSummary, summarize } from './summary.ts';
import { timelineRow } from './timeline.ts';

const help = `A telephone call of five turns through BufferInput, AlphaFlux, NuLLM, AlphaTTS and NullOutput: a plain one, one
with a confirmed preflight, one whose words change after the preflight, and a long answer that the caller interrupts.

  npm run demo                 no keys: on the sandbox, over real sockets on this machine
  npm run demo -- --hard       another call, always on the sandbox: a connection that drops, a cough, "mm-hmm", "stop",
                               "yes" over the end of a question, a changed mind, a tool interrupted, an echo, a model
                               that stalls
  npm run demo -- --json       the summary as JSON
  npm run demo -- --out DIR    where the recording and the diagram go (default: out)

With both keys in the environment it runs on the real services:
  ${environment.alpha}   speech-to-text and voices (Deepgram)
  ${environment.nu}       the language model (Groq); ${environment.model} chooses it

Exit code 0 only if every word survived and the history equals what was heard.
`;

const { values } = parseArgs({
  options: {
    hard: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    out: { type: 'string', default: 'out' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

if (values.help) {
  process.stdout.write(help);
} else {
  process.exitCode = await (values.hard ? hard : demo)(values.json, values.out);
}

async function hard(json: boolean, out: string): Promise<number> {
  const print = (line: string): void => {
    if (!json) process.stdout.write(`${line}\n`);
  };
  await mkdir(out, { recursive: true });
  const openedAt = Date.now();
  const summary = await hardDemo(out, print, (event) => {
    const row = timelineRow(event, openedAt);
    if (row) print(row);
  });
  const { recording, diagram } = summary.files;
  if (json) process.stdout.write(`${JSON.stringify(summary, undefined, 2)}\n`);
  print('');
  print(`The call: ${recording}   Its marble diagram: ${diagram}`);
  for (const fault of summary.faults) print(`FAULT: ${fault}`);
  if (summary.faults.length === 0) print('Nothing was lost, said twice, or answered that was no question.');
  return summary.faults.length === 0 ? 0 : 1;
}

async function demo(json: boolean, out: string): Promise<number> {
  const print = (line: string): void => void process.stdout.write(`${line}\n`);
  await mkdir(out, { recursive: true });
  const services = await openServices(process.env);
  if (!json) print(services.real ? 'On the real services.' : 'On the sandbox: real sockets, real audio, no keys.');
  try {
    const openedAt = Date.now();
    const call = await runCall(services, join(out, 'caller.wav'), (events$) => {
      if (json) return;
      events$.subscribe((event) => {
        const row = timelineRow(event, openedAt);
        if (row) print(row);
      });
    });
    const summary = summarize(call, services.real);
    const files = { recording: join(out, 'call.wav'), diagram: join(out, 'call.svg') };
    await writeRecording(files.recording, call);
    await writeFile(files.diagram, marbleDiagram(new Timeline(call.events)));
    if (json) print(JSON.stringify({ ...summary, files }, undefined, 2));
    else {
      printSummary(summary, print);
      print(`The call: ${files.recording}   Its marble diagram: ${files.diagram}`);
      for (const fault of summary.faults) print(`FAULT: ${fault}`);
      if (summary.faults.length === 0) print('Every word survived, and the history is what was heard.');
    }
    return summary.faults.length === 0 ? 0 : 1;
  } finally {
    await services.close();
  }
}
