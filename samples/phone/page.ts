import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

let script: Promise<string> | undefined;

/** The softphone's code for a browser, bundled once. */
export function softphoneScript(): Promise<string> {
  script ??= build({
    entryPoints: [fileURLToPath(new URL('./softphone.ts', import.meta.url))],
    ...{ bundle: true, write: false, format: 'esm', target: 'es2022', conditions: ['rxvoice-source'] },
  }).then(({ outputFiles }) => outputFiles[0]?.text ?? '');
  return script;
}

/** The softphone. */
export const pageHtml: string = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Softphone</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 3rem auto; padding: 0 1rem; }
button, input, select { font: inherit; padding: .35rem .7rem; }
#keys { display: grid; grid-template-columns: repeat(3, 3.5rem); gap: .4rem; margin: 1rem 0; }
#heard { white-space: pre-wrap; min-height: 4rem; border-left: 3px solid #888; padding-left: .8rem; }
</style>
</head>
<body>
<h1>Softphone</h1>
<p>
  <select id="wire"><option value="b">PhoneSocketB: linear16, 16 kHz</option><option value="a">PhoneStreamA: mulaw, 8 kHz</option></select>
  <button id="call">Call</button>
  <button id="hangup" disabled>Hang up</button>
</p>
<p><label><input type="checkbox" id="microphone"> speak through the microphone (for the real services)</label></p>
<form id="say"><input id="text" size="32" placeholder="Say this, in the sandbox's voice" value="count to 5"><button disabled>Say</button></form>
<div id="keys"></div>
<p id="state">idle</p>
<p id="heard"></p>
<script type="module" src="/softphone.js"></script>
</body>
</html>
`;
