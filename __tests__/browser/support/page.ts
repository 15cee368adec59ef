import * as reactive from 'rxjs';
import * as library from 'rxvoice';
import * as voice from '../../../samples/sandbox/modem.ts';

declare global {
  /** What the pages of browser tests have as globals. */
  var rxvoice: typeof library;
  var rxjs: typeof reactive;
  var modem: typeof voice;
}

Object.assign(globalThis, { rxvoice: library, rxjs: reactive, modem: voice });
