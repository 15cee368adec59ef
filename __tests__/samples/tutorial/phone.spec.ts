// Slow: a telephone call, at the speed of sound.
import { createHmac } from 'node:crypto';
import { startSandbox } from '../../../samples/sandbox/index.ts';
import { dial, sign } from '../../../samples/sandbox/phone-caller.ts';
import { resetOnceAnswered } from '../raw-requests.ts';
import { Program } from './program.ts';

const authToken = 'the-account-token';
const publicUrl = 'https://voice.example.com';
const signedUrl = 'wss://voice.example.com/call';

describe('Chapter 3 of the tutorial, the phone', () => {
  it('connects the number, answers calls of Twilio alone, and lets them end when it is stopped', async () => {
    await using sandbox = await startSandbox();
    const environment = { PORT: '0', PUBLIC_URL: publicUrl, TWILIO_AUTH_TOKEN: authToken, SANDBOX: sandbox.url };
    await using program = new Program('3-phone/phone.ts', environment);
    const [, port = ''] = await program.prints(/port (\d+)/);

    const webhook = (signature: string): Promise<Response> =>
      fetch(`http://127.0.0.1:${port}/twiml`, {
        method: 'POST',
        headers: { 'x-twilio-signature': signature },
        body: new URLSearchParams({ From: '+447700900123' }),
      });
    const signature = createHmac('sha1', authToken).update(`${publicUrl}/twimlFrom+447700900123`).digest('base64');
    expect(await (await webhook(signature)).text()).toContain(`<Connect><Stream url="${signedUrl}">`);
    expect((await webhook(sign('forged', `${publicUrl}/twiml`))).status).toBe(403);

    const url = `ws://127.0.0.1:${port}/call`;
    await expect(dial({ url, authToken: 'forged', publicUrl: signedUrl })).rejects.toThrow('403');
    await resetOnceAnswered(Number(port), '/call');
    const caller = await dial({ url, authToken, publicUrl: signedUrl });
    const plain = (): string => caller.heard().text.replace(/\s+/g, ' ').trim();
    await caller.until(() => plain() === 'Hello!');
    caller.say('count to 3');
    await caller.until(() => plain() === 'Hello! 1, 2, 3.');
    expect(caller.warnings).toEqual([]);

    program.kill('SIGTERM');
    await caller.hangUp();
    expect(await program.ended).toBe(0);
    expect(program.output).toMatch(/opened[^]*closed ended/);
  });
});
