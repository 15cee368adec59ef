/** Brings the programs that specs start: browsers, and nats-server. One after the other: apt-get works alone. */
import { bringChromium, bringEngines } from './browsers.mjs';
import { bringNats } from './nats.mjs';

bringChromium();
bringEngines();
bringNats();
