/** A caller of a phone server, as Twilio would connect one: hears the greeting, asks, and prints what it heard. */
import { dial } from '../../samples/sandbox/phone-caller.ts';

const caller = await dial({ url: process.argv[2] ?? '' });
await caller.until(() => caller.heard().text.includes('help you?'));
caller.say('say good day');
await caller.until(() => caller.heard().text.includes('good day'));
console.log(caller.heard().text);
await caller.hangUp();
