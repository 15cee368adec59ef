import * as reactive from 'rxjs';
import * as library from 'rxvoice';
import * as samples from 'rxvoice/audio';
import * as remotely from 'rxvoice/remote';
import * as testing from 'rxvoice/testing';
import * as voice from '../../../samples/sandbox/modem.ts';
import * as clocks from './sound.ts';

declare global {
  /** What the pages of browser tests have as globals. */
  var rxvoice: typeof library;
  var remote: typeof remotely;
  var fakes: typeof testing;
  var pcm: typeof samples;
  var rxjs: typeof reactive;
  var modem: typeof voice;
  var sound: typeof clocks;
}

Object.assign(globalThis, {
  rxvoice: library,
  remote: remotely,
  fakes: testing,
  pcm: samples,
  rxjs: reactive,
  modem: voice,
  sound: clocks,
});
